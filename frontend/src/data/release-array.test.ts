import { describe, expect, it } from "vitest";
import { type BoxLayer, decodeReleaseArray, type PointLayer, UnreadableArray } from "./release-array";
import { NOWHERE, Surface } from "./surface";
import { boxesFile, cellsFile, encode, mixedFile } from "./test-array";

describe("the decoder of map.bin", () => {
  it("reads cells, their step and what lies inside the study area", () => {
    const array = decodeReleaseArray(cellsFile());
    const surface = new Surface(array.grid!, array.inside, array.layers[0] as BoxLayer);
    expect(array.bounds).toEqual([0, 0, 0.036, 0.036]);
    expect(surface.at(0, 0)).toBe(NOWHERE);
    expect(surface.read(surface.at(3, 3))).toMatchObject({ value: 150, cells: 1, standsOut: true });
    expect(surface.read(surface.at(0, 2))).toMatchObject({ value: 20, standsOut: false });
  });

  it("reads boxes and spreads them over their cells", () => {
    const array = decodeReleaseArray(boxesFile());
    const surface = new Surface(array.grid!, array.inside, array.layers[0] as BoxLayer);
    expect([...surface.boxOf]).toEqual([0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 2, 2]);
    expect(surface.density(0)).toBe(100);
    expect(surface.value(1)).toBe(-3);
    expect(surface.edges(2)).toEqual({ top: 2, bottom: 4, left: 2, right: 4 });
  });

  it("reads points with and without values, and where shapes are", () => {
    const [points, shapes] = decodeReleaseArray(mixedFile()).layers;
    expect([...(points as PointLayer).positions]).toEqual([100_000_000, 500_000_000, -1, 2]);
    expect([...(points as PointLayer).stored!]).toEqual([7, -2]);
    expect(shapes).toMatchObject({ shape: "shapes", file: "zones.geojson" });
  });

  it.each([
    ["an empty file", new ArrayBuffer(0)],
    ["another format", new TextEncoder().encode("{\"hello\": \"world\"}").buffer as ArrayBuffer],
    ["a later version", encode({}, [], 2)],
    ["a header that is cut short", cellsFile().slice(0, 100)],
    ["arrays that are cut short", cellsFile().slice(0, -8)],
    ["no grid", cellsFile({ grid: undefined })],
    ["more cells than a page can hold", cellsFile({ grid: { west: 0, north: 1, cell: 1, columns: 32768, rows: 32768 } })],
    ["no layers", cellsFile({ layers: [] })],
    ["a layer smaller than its grid", cellsFile({}, { length: 9 })],
    ["an unknown type", cellsFile({}, { value: { type: "int64", offset: 0, length: 16 } })],
    ["counts without a sign", cellsFile({}, { value: { type: "uint8", offset: 0, length: 16 } })],
    ["an offset before the data", cellsFile({}, { value: { type: "int8", offset: -8, length: 16 } })],
    ["a crooked offset", cellsFile({}, { value: { type: "int16", offset: 1, length: 16 } })],
    ["no noise", cellsFile({}, { noise: [] })],
    ["noise it does not describe", cellsFile({}, { noise_index: { type: "uint8", offset: 16, length: 16 } })],
    ["no study area", cellsFile({ area: null })],
    ["cells without a grid", cellsFile({ grid: null, inside: null })],
    ["a layer of an unknown shape", cellsFile({}, { shape: "spheres" })],
    ["a box outside the grid", boxesFile([0, 4, 0, 2, 0, 2, 2, 5, 2, 4, 2, 4])],
    ["a box turned inside out", boxesFile([4, 0, 0, 2, 0, 2, 2, 4, 2, 4, 2, 4])],
  ])("refuses %s with a message", (_, file) => {
    expect(() => decodeReleaseArray(file)).toThrow(UnreadableArray);
  });
});
