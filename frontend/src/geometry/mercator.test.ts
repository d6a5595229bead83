import { describe, expect, it } from "vitest";
import { toDegrees, toMercator } from "./mercator";

describe("Web Mercator", () => {
  it("projects there and back", () => {
    const { x, y } = toMercator({ longitude: 116.4, latitude: 39.9 });
    expect(x).toBeCloseTo(12957588.7, 0);
    expect(toDegrees(x, y).latitude).toBeCloseTo(39.9, 9);
  });
});
