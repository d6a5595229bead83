import { describe, expect, it } from "vitest";
import type { Corners } from "../geometry/area-shape";
import { addCorner, areaOf, moveTo, outlineOf, press, type Sketch, startSketch } from "./area-sketch";

const clicks = (...corners: Corners): Sketch => corners.reduce(addCorner, startSketch("polygon"));

describe("drawing a box", () => {
  const drag = (from: Corners[number], to: Corners[number]): Sketch => moveTo(press(startSketch("box"), from), to);

  it("goes from corner to corner in any direction", () => {
    const ring = [[1, 1], [3, 1], [3, 2], [1, 2], [1, 1]];
    expect(areaOf(drag([1, 1], [3, 2]))!.coordinates[0]).toEqual(ring);
    expect(areaOf(drag([3, 2], [1, 1]))!.coordinates[0]).toEqual(ring);
    expect(outlineOf(drag([3, 2], [1, 1]))).toEqual([[3, 2], [1, 2], [1, 1], [3, 1], [3, 2]]);
  });

  it("is nothing before the press, and no area without extent", () => {
    expect(outlineOf(moveTo(startSketch("box"), [1, 1]))).toEqual([]);
    expect(areaOf(startSketch("box"))).toBeNull();
    expect(areaOf(drag([1, 1], [1, 2]))).toBeNull();
    expect(areaOf(drag([1, 1], [2, 1]))).toBeNull();
  });

  it("starts again at the next press, and takes no clicked corners", () => {
    const again = press(drag([1, 1], [3, 2]), [5, 5]);
    expect([again.corners, again.pointer]).toEqual([[[5, 5]], [5, 5]]);
    expect(addCorner(again, [6, 6])).toBe(again);
  });
});

describe("drawing a polygon", () => {
  it("takes each corner once, though a double click reports its place twice", () => {
    const sketch = clicks([0, 0], [2, 0], [2, 2], [2, 2]);
    expect(sketch.corners).toHaveLength(3);
    expect(areaOf(sketch)!.coordinates[0]).toEqual([[0, 0], [2, 0], [2, 2], [0, 0]]);
  });

  it("may come back to a corner that was not the last", () => {
    expect(clicks([0, 0], [2, 0], [0, 0]).corners).toHaveLength(3);
  });

  it("is no area before the third corner", () => {
    expect(areaOf(clicks([0, 0], [2, 0]))).toBeNull();
  });

  it("is drawn up to the pointer, which becomes no corner by itself", () => {
    const sketch = moveTo(clicks([0, 0], [2, 0]), [1, 1]);
    expect(outlineOf(sketch)).toEqual([[0, 0], [2, 0], [1, 1]]);
    expect(sketch.corners).toHaveLength(2);
    expect(press(sketch, [9, 9])).toBe(sketch);
  });
});
