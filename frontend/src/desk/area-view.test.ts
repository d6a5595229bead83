import { describe, expect, it } from "vitest";
import { fromBounds } from "../geometry/area-shape";
import { pixelOf, positionAt } from "../geometry/place";
import {
  decimalsAt,
  landSuffices,
  panned,
  placeAround,
  resized,
  sizeOf,
  visibleBounds,
  zoomed,
} from "./area-view";

const town = fromBounds([12, 55, 13, 56]);
const place = placeAround(town, 800, 400);

describe("the view of a study area", () => {
  it("shows the whole area with room to draw around it", () => {
    const corner = pixelOf(place, { longitude: 12, latitude: 56 });
    const opposite = pixelOf(place, { longitude: 13, latitude: 55 });
    expect([corner.y, opposite.y].map(Math.round)).toEqual([100, 300]);
    expect(corner.x + opposite.x).toBeCloseTo(800);
  });

  it("is of the world while nothing is chosen, and no wider than it", () => {
    const world = placeAround(null, 800, 400);
    expect(visibleBounds(world)[2] - visibleBounds(world)[0]).toBe(360);
    expect(zoomed(world, 1000, { x: 0, y: 0 }).perPixel * 800).toBeCloseTo(40_075_016.7, 0);
  });

  it("zooms about a pixel, which keeps its position, and not closer than two metres", () => {
    const about = { x: 700, y: 50 };
    const near = zoomed(place, 0.5, about);
    expect(near.perPixel).toBeCloseTo(place.perPixel / 2);
    expect(positionAt(near, about).longitude).toBeCloseTo(positionAt(place, about).longitude);
    expect(positionAt(near, about).latitude).toBeCloseTo(positionAt(place, about).latitude);
    expect(zoomed(place, 1e-9, about).perPixel).toBe(2);
  });

  it("moves to the right and down, and back", () => {
    const moved = panned(place, 30, 20);
    expect(positionAt(moved, { x: 0, y: 0 })).toEqual(positionAt(place, { x: 30, y: 20 }));
    expect(panned(moved, -30, -20).west).toBeCloseTo(place.west);
  });

  it("keeps its middle on a canvas of another size", () => {
    const small = resized(place, 400, 300);
    const [before, after] = [positionAt(place, { x: 400, y: 200 }), positionAt(small, { x: 200, y: 150 })];
    expect(after.longitude).toBeCloseTo(before.longitude);
    expect(after.latitude).toBeCloseTo(before.latitude);
  });

  it("names degrees as finely as a pixel is worth", () => {
    expect([111_195, 100, 10, 0.01].map((perPixel) => decimalsAt({ ...place, perPixel }))).toEqual([0, 4, 5, 5]);
  });
});

describe("fetched land", () => {
  const land = { bounds: [0, 0, 40, 20] as [number, number, number, number], span: 20 };

  it("suffices for a view within it that is not much closer", () => {
    expect(landSuffices(land, [10, 5, 20, 10])).toBe(true);
    expect(landSuffices(land, [10, 5, 15, 10])).toBe(false);
    for (const outside of [[-1, 5, 20, 10], [10, -1, 20, 10], [30, 5, 41, 10], [10, 5, 20, 21]] as const) {
      expect(landSuffices(land, [...outside])).toBe(false);
    }
    expect(landSuffices(null, [10, 5, 20, 10])).toBe(false);
  });
});

describe("the size of a study area", () => {
  it("is told in kilometres, narrower towards the poles", () => {
    const { width, height } = sizeOf([12, 59.5, 13, 60.5]);
    expect(height).toBeCloseTo(111.2, 1);
    expect(width).toBeCloseTo(55.6, 1);
  });
});
