import { describe, expect, it } from "vitest";
import { HATCH_PITCH, hatchCover } from "./hatch";

describe("the hatch", () => {
  it("has lines at 45 degrees with the same distance everywhere", () => {
    expect(hatchCover(0, 0, 1)).toBeGreaterThan(0.9);
    expect(hatchCover(3, -3, 1)).toBe(hatchCover(0, 0, 1));
    expect(hatchCover(HATCH_PITCH / 2, 0, 1)).toBe(0);
  });
});
