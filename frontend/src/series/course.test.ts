import { describe, expect, it } from "vitest";
import type { Period } from "../data/series-array";
import { periodAt } from "./course";

const week = (number: number): Period => ({ number, from: "2026-01-05", to: "2026-01-11", release: "", total: 0 });

describe("the time line", () => {
  it("finds the period that is pressed, with gaps where maps are missing", () => {
    const periods = [week(1), week(2), week(11)];
    expect([0, 15, 90, 200, 420].map((x) => periodAt(periods, 420, x))).toEqual([0, 0, 1, 1, 2]);
    expect(periodAt([week(3)], 420, 300)).toBe(0);
  });
});
