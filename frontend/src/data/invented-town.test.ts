import { describe, expect, it } from "vitest";
import { COLUMNS, gaussianNoise, margin, noise, ROWS, threshold, town, uniform, YOURS } from "./invented-town";

describe("the invented town", () => {
  it("has a count for every cell and you in a quiet one", () => {
    expect(town()).toHaveLength(COLUMNS * ROWS);
    expect(town()[YOURS]).toBeLessThan(10);
  });

  it.each([0.1, 1, 4])("has margins and thresholds that hold for epsilon %s", (epsilon) => {
    const draws = Array.from({ length: 60_000 }, () => noise(epsilon, uniform));
    const share = (holds: (draw: number) => boolean) => draws.filter(holds).length / draws.length;
    expect(share((draw) => Math.abs(draw) > margin(epsilon))).toBeLessThan(0.056);
    expect(share((draw) => Math.abs(draw) > margin(epsilon) - 1)).toBeGreaterThan(0.044);
    expect(share((draw) => draw >= threshold(epsilon))).toBeLessThan(0.0022);
    expect(Math.abs(draws.reduce((sum, draw) => sum + draw, 0) / draws.length)).toBeLessThan(0.5 / epsilon);
  });

  it("draws rounded normal noise of the deviation that it is given", () => {
    const draws = Array.from({ length: 60_000 }, () => gaussianNoise(12, uniform));
    expect(draws.every(Number.isInteger)).toBe(true);
    expect(Math.abs(draws.reduce((sum, draw) => sum + draw, 0) / draws.length)).toBeLessThan(0.4);
    expect(Math.sqrt(draws.reduce((sum, draw) => sum + draw ** 2, 0) / draws.length)).toBeCloseTo(12, 0);
    expect(draws.filter((draw) => Math.abs(draw) > 23).length / draws.length).toBeCloseTo(0.05, 2);
  });
});
