import { describe, expect, it } from "vitest";
import type { PointLayer, ReleaseArray } from "../../data/release-array";
import { busiestOf, exampleCounts, isPerhaps, largestOf, placesOf, radiusOf, standsOut } from "./circles";

function layer(name: string, stored: number[]): PointLayer {
  return {
    name, title: "", kind: "measured", shape: "points", of: 3, step: 2, partsOfDegree: 10,
    positions: Int32Array.of(180, 590, 181, 591, 182, 592), stored: Int16Array.from(stored),
    margins: Float32Array.of(12, 12, 12), thresholds: Float32Array.of(20, 20, 20), names: ["Post", "Mill", "Quay"],
    ranks: [Int32Array.of(1, 3, 2), Int32Array.of(2, 3, 2)],
  };
}

describe("circles of places", () => {
  const whole = layer("places", [200, -3, 50]);
  const days = [layer("places-1-monday", [40, 0, 12]), layer("places-2-tuesday", [90, 2, 9])];
  const release = { layers: [whole, ...days] } as unknown as ReleaseArray;

  it("have names, counts and the ranks that they may have", () => {
    const [post, mill] = placesOf(whole);
    expect([post!.name, post!.value, post!.best, post!.worst]).toEqual(["Post", 400, 1, 2]);
    expect([mill!.value, standsOut(post!), standsOut(mill!)]).toEqual([-6, true, false]);
  });

  it("are perhaps among the busiest where their ranks lie on both sides of the limit", () => {
    const [post, mill, quay] = placesOf(whole);
    expect([1, 2, 3].map((count) => isPerhaps(post!, count))).toEqual([true, false, false]);
    expect(isPerhaps(quay!, 1)).toBe(false);
    expect(isPerhaps({ ...mill!, best: 1 }, 2)).toBe(false);
    expect([500, 40, 39, 12, 7, 2, 1].map(busiestOf)).toEqual([20, 20, 10, 5, 3, 1, 1]);
  });

  it("have areas proportional to counts", () => {
    expect(radiusOf(100, 400) ** 2 / radiusOf(400, 400) ** 2).toBeCloseTo(1 / 4);
    expect(radiusOf(-5, 400)).toBe(0);
  });

  it("have one scale in all contexts, and another all together", () => {
    expect(days.map((day) => largestOf(day, release))).toEqual([180, 180]);
    expect(largestOf(whole, release)).toBe(400);
  });

  it("are explained by round counts", () => {
    expect(exampleCounts(612)).toEqual([500, 200, 50]);
    expect(exampleCounts(3)).toEqual([2, 1]);
  });
});
