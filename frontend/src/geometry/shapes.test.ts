import { describe, expect, it } from "vitest";
import { centreOf, contains, nearestInDirection, walk } from "./shapes";

const square = (west: number, south: number, side: number) =>
  [[west, south], [west + side, south], [west + side, south + side], [west, south + side], [west, south]];

describe("shapes", () => {
  const holed = { type: "Polygon" as const, coordinates: [square(0, 0, 4), square(1, 1, 1)] };

  it("hold what is inside them and not in their holes", () => {
    expect(contains(holed, { longitude: 3, latitude: 3 })).toBe(true);
    expect(contains(holed, { longitude: 1.5, latitude: 1.5 })).toBe(false);
    expect(contains(holed, { longitude: 5, latitude: 1 })).toBe(false);
    expect(contains({ type: "Point", coordinates: [3, 3] }, { longitude: 3, latitude: 3 })).toBe(false);
  });

  it("have their middle in their largest part", () => {
    const parts = { type: "MultiPolygon" as const, coordinates: [[square(50, 0, 1)], [square(0, 0, 4)]] };
    expect(centreOf(parts)).toEqual({ longitude: 2, latitude: 2 });
  });

  it("are walked in the direction of an arrow, and not past the last", () => {
    const places = [[0, 0], [1, 0.2], [2, 0], [1, -2]].map(([longitude, latitude]) => ({
      middle: { longitude: longitude!, latitude: latitude! },
    }));
    const right = nearestInDirection(places, places[0]!.middle, [0, 1]);
    expect(right).toBe(places[1]);
    expect(nearestInDirection(places, places[1]!.middle, [1, 0])).toBe(places[3]);
    expect(nearestInDirection(places, places[2]!.middle, [0, 1])).toBeUndefined();
    expect(nearestInDirection(places, { longitude: 1.9, latitude: 0.1 }, null)).toBe(places[2]);
  });

  it("are walked step by step, from the nearest one at first", () => {
    const places = [0, 1, 2, 3].map((longitude) => ({ middle: { longitude, latitude: 0 } }));
    const near = { longitude: 0.9, latitude: 0 };
    expect(walk(places, null, [0, 1], 10, near)).toBe(places[1]);
    expect(walk(places, places[0], [0, 1], 2, near)).toBe(places[2]);
    expect(walk(places, places[1], [0, 1], 10, near)).toBe(places[3]);
    expect(walk(places, places[1], [1, 0], 1, near)).toBe(places[1]);
    expect(walk([], null, [0, 1], 1, near)).toBeUndefined();
  });
});
