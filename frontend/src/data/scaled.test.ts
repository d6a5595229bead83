import { describe, expect, it } from "vitest";
import type { OpenRelease } from "./open-release";
import type { BoxLayer } from "./release-array";
import { scaleOpening, scaleRelease } from "./scaled";
import { Surface } from "./surface";

const layer: BoxLayer = {
  name: "cells",
  title: "Cells",
  kind: "measured",
  shape: "cells",
  step: 1,
  stored: Int32Array.of(100, 0),
  boxes: null,
  cells: null,
  noise: [{ margin: 6, threshold: 9, label: "exact" }],
  noiseIndex: null,
};
const grid = { rows: 1, columns: 2, west: 0, north: 0, cell: 1 };
const nouns = { one: "people", sum: "people" };
const opened = { release: { grid, nouns, layers: [layer] }, scene: { nouns } } as unknown as OpenRelease;
const scaling = { factor: 10, spread: 0.08, noun: "scaled sightings" };

describe("counts scaled to a total", () => {
  it("multiplies counts and widens margins by the noise of the factor", () => {
    const { release, scene } = scaleRelease(opened, scaling);
    const surface = new Surface(grid, null, release.layers[0] as BoxLayer);
    expect(surface.value(0)).toBe(1000);
    expect(surface.noise(0).margin).toBeCloseTo(Math.hypot(60, 80));
    expect(surface.noise(1).margin).toBe(60);
    expect([surface.standsOut(0), surface.standsOut(1)]).toEqual([true, false]);
    expect(scene.nouns.one).toBe("scaled sightings");
  });

  it("multiplies the classes of the opening view", () => {
    const text = scaleOpening('{"layer":"cells","metres":100,"edges":{"cells":[1,2.5]}}', scaling);
    expect(JSON.parse(text)).toEqual({ layer: "cells", metres: 100, edges: { cells: [10, 25] } });
  });
});
