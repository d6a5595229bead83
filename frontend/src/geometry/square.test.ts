import { describe, expect, it } from "vitest";
import { squareFor } from "./square";

describe("the square that densities are stated for", () => {
  it("is a cell where a cell holds whole people", () => {
    expect(squareFor(170, 26)).toEqual({ side: "170\u00a0m", metres: 170, cells: 1 });
  });

  it("is round and large enough otherwise", () => {
    const square = squareFor(87, 0.018);
    expect(square.side).toBe("1\u00a0km");
    expect(0.018 * square.cells).toBeGreaterThanOrEqual(1);
  });
});
