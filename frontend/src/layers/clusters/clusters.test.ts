import type { Map as MapLibre } from "maplibre-gl";
import { describe, expect, it } from "vitest";
import type { PointLayer, ReleaseArray } from "../../data/release-array";
import type { Scene } from "../../data/scene";
import { clustersOf, load } from "./clusters";

const layer: PointLayer = {
  name: "clusters", title: "", kind: "measured", shape: "points", of: 3, step: 2, partsOfDegree: 10,
  positions: Int32Array.of(180, 590, 181, 591, 182, 592), stored: Int16Array.of(50, -3, 2),
  margins: Float32Array.of(12, 12, 12), thresholds: null, names: null,
};
const area = { type: "Polygon" as const, coordinates: [[[18, 59], [19, 59], [19, 60], [18, 59]]] };

describe("clusters", () => {
  const clusters = clustersOf(layer, [{ type: "Feature", geometry: area, properties: { cluster: 2 } }]);

  it("have their counts, positions and areas", () => {
    expect(clusters.map(({ id, value }) => [id, value])).toEqual([[1, 100], [2, -6], [3, 4]]);
    expect(clusters[1]!.middle).toEqual({ longitude: 18.1, latitude: 59.1 });
    expect(clusters.map((cluster) => cluster.area)).toEqual([null, area, null]);
    expect([clusters[0]!.margin, clusters[0]!.threshold]).toEqual([12, 0]);
  });

  it("are circles as large as their counts, and never too small to be seen", () => {
    const [largest, negative, small] = clusters.map(({ radius }) => radius);
    expect([largest, negative]).toEqual([26, 4]);
    expect(small).toBeCloseTo(26 * Math.sqrt(0.04));
  });

  it("have figures above the names of places, which would push them out", async () => {
    const mounted: [string, string | undefined][] = [];
    const map = {
      getContainer: () => ({ clientWidth: 900 }),
      getSource: () => undefined,
      addSource: () => map,
      addLayer: ({ id }: { id: string }, before?: string) => mounted.push([id, before]),
    };
    const shown = await load(layer, { layers: [layer] } as unknown as ReleaseArray, {} as Scene);
    shown.mount(map as unknown as MapLibre, "names");
    expect(mounted).toEqual([["clusters-areas", "names"], ["clusters", "names"], ["clusters-labels", undefined]]);
  });
});
