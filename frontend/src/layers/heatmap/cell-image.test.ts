import { describe, expect, it } from "vitest";
import { type BoxLayer, decodeReleaseArray } from "../../data/release-array";
import { Surface } from "../../data/surface";
import { boxesFile, cellsFile } from "../../data/test-array";
import { PLAIN_STYLE } from "../map-layer";
import { HATCHED, LOWER_EDGE, NOTHING, paintCells, RIGHT_EDGE } from "./cell-image";

const surfaceOf = (file: ArrayBuffer): Surface => {
  const { grid, inside, layers } = decodeReleaseArray(file);
  return new Surface(grid!, inside, layers[0] as BoxLayer);
};
const channel = (pixels: Uint8Array, index: number): number[] =>
  [...pixels].filter((_, byte) => byte % 4 === index);

describe("the picture of the cells", () => {
  it("colours only what reaches the threshold, hatches the rest and leaves the outside alone", () => {
    const image = paintCells(surfaceOf(cellsFile()), PLAIN_STYLE);
    const looks = channel(image.pixels, 0);
    expect(looks[0]).toBe(NOTHING);
    expect(looks.slice(1, 3)).toEqual([HATCHED, HATCHED]);
    expect(Math.max(...looks.slice(3))).toBe(6);
    expect([image.coloured, image.hatched]).toEqual([13, 2]);
  });

  it("never hatches margins", () => {
    const image = paintCells(surfaceOf(cellsFile()), { ...PLAIN_STYLE, show: "margin" });
    expect(image.hatched).toBe(0);
    expect(image.edges).toEqual([12]);
  });

  it("colours boxes by their count per cell and marks where they end", () => {
    const image = paintCells(surfaceOf(boxesFile()), PLAIN_STYLE);
    const looks = channel(image.pixels, 0);
    expect(looks[0]).toBe(6);
    expect(looks[2]).toBe(HATCHED);
    expect(looks[10]).toBe(0);
    expect(channel(image.pixels, 1)).toEqual([
      0, RIGHT_EDGE, 0, RIGHT_EDGE,
      0, RIGHT_EDGE, LOWER_EDGE, RIGHT_EDGE | LOWER_EDGE,
      0, RIGHT_EDGE, 0, RIGHT_EDGE,
      LOWER_EDGE, RIGHT_EDGE | LOWER_EDGE, LOWER_EDGE, RIGHT_EDGE | LOWER_EDGE,
    ]);
    expect([...image.pixels.slice(2, 4)]).toEqual([2, 4]);
  });
});
