import { describe, expect, it } from "vitest";
import type { PointLayer } from "../../data/release-array";
import { placesOf, reportsOf } from "./points";

const layer: PointLayer = {
  name: "places", title: "", kind: "inferred", shape: "points", of: 5, step: 1, partsOfDegree: 10,
  positions: Int32Array.of(1, 2, 3, 4, 1, 2, 1, 2, 1, 2), stored: null, margins: null, thresholds: null, names: null,
};

describe("moved reports", () => {
  it("are a dot of the same size each, also on one another", () => {
    const points = reportsOf(layer);
    expect(points.map(({ key }) => key)).toEqual(["0", "1", "2", "3", "4"]);
    expect(new Set(points.map(({ radius }) => radius)).size).toBe(1);
    expect(points[1]!.middle).toEqual({ longitude: 0.3, latitude: 0.4 });
  });
});

describe("drawn places", () => {
  it("are one dot each, with an area by how often the place was drawn", () => {
    const points = placesOf(layer);
    expect(points.map(({ key, times }) => [key, times])).toEqual([["0", 4], ["1", 1]]);
    expect(points[0]!.radius / points[1]!.radius).toBeCloseTo(2);
  });
});
