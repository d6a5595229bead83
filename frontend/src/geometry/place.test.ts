import { describe, expect, it } from "vitest";
import { roundView } from "./place";

describe("a view", () => {
  it("is rounded to a hundredth of a pixel", () => {
    const view = { zoom: 17.123456, latitude: 55.66012812345, longitude: 12.58 };
    expect(roundView(view)).toEqual({ zoom: 17.123, latitude: 55.66012812, longitude: 12.58 });
    expect(roundView(roundView(view))).toEqual(roundView(view));
  });
});
