import { describe, expect, it } from "vitest";
import { classEdges, classOf, rampStep, STEPS } from "./classes";

describe("classes", () => {
  const counts = Array.from({ length: 5000 }, (_, index) => 26 + Math.floor(index ** 1.6 / 400));

  it("rise from the least value in at most seven steps and are all reached", () => {
    const edges = classEdges(counts, true);
    expect(edges).toHaveLength(STEPS);
    expect(edges[0]).toBe(26);
    expect(edges.every((edge, i) => i === 0 || edge > edges[i - 1]!)).toBe(true);
    expect(new Set(counts.map((count) => classOf(count, edges))).size).toBe(STEPS);
  });

  it("are not flattened by one crowded cell", () => {
    expect(classEdges([...counts, 5_000_000], true)).toEqual(classEdges(counts, true));
  });

  it("do not change with the order of the values", () => {
    expect(classEdges([...counts].reverse(), true)).toEqual(classEdges(counts, true));
  });

  it("are whole for counts and few where values are few", () => {
    expect(classEdges([26, 27, 28], true).every(Number.isInteger)).toBe(true);
    expect(classEdges([40, 40, 40], true)).toEqual([40]);
    expect(classEdges([], true)).toEqual([]);
  });

  it("hold for fractions", () => {
    const edges = classEdges([0.02, 0.5, 3, 18, 240], false);
    expect(edges[0]).toBe(0.02);
    expect(edges.length).toBeGreaterThan(4);
  });

  it("stand a constant amount apart on a linear scale", () => {
    const edges = classEdges(counts, true, "linear");
    const widths = edges.slice(1).map((edge, i) => edge - edges[i]!);
    expect(edges).toHaveLength(STEPS);
    expect(Math.max(...widths) / Math.min(...widths)).toBeLessThan(1.2);
  });

  it("hold about as many values each on a quantile scale", () => {
    const edges = classEdges(counts, true, "quantile");
    const held = new Array<number>(edges.length).fill(0);
    for (const count of counts) held[classOf(count, edges)]!++;
    expect(edges).toHaveLength(STEPS);
    expect(Math.max(...held) / Math.min(...held)).toBeLessThan(1.3);
  });

  it("use the whole ramp however few they are", () => {
    expect([0, 1, 2].map((index) => rampStep(index, 3))).toEqual([0, 3, 6]);
    expect(rampStep(0, 1)).toBe(3);
  });
});
