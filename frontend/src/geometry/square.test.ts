import { describe, expect, it } from "vitest";
import { squareOf } from "./square";

describe("the square that counts are stated for", () => {
  it("is a cell where none is given, or one as large", () => {
    expect(squareOf(undefined, 170)).toEqual({ side: "170\u00a0m", metres: 170, cells: 1 });
    expect(squareOf(100, 97)).toEqual({ side: "100\u00a0m", metres: 100, cells: 1 });
  });

  it("holds as many cells as fit into its area otherwise", () => {
    const square = squareOf(1000, 500);
    expect([square.side, square.cells]).toEqual(["1\u00a0km", 4]);
  });
});
