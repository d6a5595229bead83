import { describe, expect, it } from "vitest";
import { hatchRatio } from "./hatch-image";

describe("the hatch of shapes", () => {
  it("has the same distance between lines at every zoom", () => {
    expect(hatchRatio(8, 12)).toBe(1);
    expect(hatchRatio(16, 12)).toBe(2);
    for (const zoom of [11.25, 12.5, 12.9]) {
      const magnified = 2 ** (zoom - Math.floor(zoom));
      expect((8 / hatchRatio(8, zoom)) * magnified).toBeCloseTo(8);
    }
  });
});
