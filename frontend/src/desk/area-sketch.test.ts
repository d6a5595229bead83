import { describe, expect, it } from "vitest";
import type { Corners } from "../geometry/area-shape";
import { finish, putCorner, shapeSoFar } from "./area-sketch";

describe("drawing a study area", () => {
  it("ends a box at its second corner", () => {
    const first = putCorner("box", [], [12, 55], false);
    expect(first).toEqual({ corners: [[12, 55]], finished: false });
    expect(putCorner("box", first.corners, [13, 56], false)).toEqual({ corners: [[12, 55], [13, 56]], finished: true });
  });

  it("ends an outline where its last corner is repeated, and adds none there", () => {
    const corners: Corners = [[12, 55], [13, 55], [13, 56]];
    expect(putCorner("outline", corners, [12, 56], false).corners).toHaveLength(4);
    expect(putCorner("outline", corners, [13, 56], true)).toEqual({ corners, finished: true });
  });

  it("shows the shape up to the pointer", () => {
    expect(shapeSoFar("box", [], [13, 56])).toBeNull();
    expect(shapeSoFar("box", [[13, 56]], [12, 55])!.coordinates[0]).toEqual([[12, 55], [13, 55], [13, 56], [12, 56], [12, 55]]);
    expect(shapeSoFar("outline", [[12, 55], [13, 55]], [13, 56])!.coordinates[0]).toHaveLength(4);
  });
});

describe("a finished study area", () => {
  it("has rounded corners inside the world that can be mapped", () => {
    expect(finish("box", [[12.34567, 89], [-181, 55.55555]], 2)).toEqual({ bounds: [-180, 55.56, 12.35, 85], outline: null });
  });

  it("has an outline where one was drawn", () => {
    const finished = finish("outline", [[12, 55], [13, 55], [13, 56]], 3)!;
    expect(finished.bounds).toEqual([12, 55, 13, 56]);
    expect(finished.outline!.coordinates[0]).toEqual([[12, 55], [13, 55], [13, 56], [12, 55]]);
  });

  it("is none without extent or with too few corners", () => {
    expect(finish("box", [[12, 55]], 3)).toBeNull();
    expect(finish("box", [[12, 55], [12.0001, 56]], 3)).toBeNull();
    expect(finish("box", [[12, 55], [13, 55]], 3)).toBeNull();
    expect(finish("outline", [[12, 55], [13, 56]], 3)).toBeNull();
  });
});
