import { describe, expect, it } from "vitest";
import { changeMarginOf, changesOf, countsOf, marginOf, type Period, periodBefore, type Series, smoothedOf, yearBefore } from "./series-array";

const DAY = 86_400_000;

function weeks(numbers: number[]): Period[] {
  const day = (after: number): string => new Date(Date.parse("2026-01-05") + after * DAY).toISOString().slice(0, 10);
  return numbers.map((number) => ({
    number, from: day(7 * (number - 1)), to: day(7 * number - 1), release: String(number), total: number,
  }));
}

function series(periods: Period[], regions = 2): Series {
  const counts = Int8Array.from({ length: periods.length * regions }, (_, index) => index * index);
  return {
    periods, regions, counts, smoothed: counts, smoothStep: 0.25, margin: 1, totalMargin: 1, changeMargin: 2,
    totalChangeMargin: 2, threshold: 2, byNoise: 3, listed: null, departures: null, pairs: null,
  };
}

describe("periods of a series", () => {
  it("have their own counts, and changes between them", () => {
    const three = series(weeks([1, 2, 3]));
    expect([...countsOf(three, 1)]).toEqual([4, 9]);
    expect([...smoothedOf(three, 2)]).toEqual([16, 25]);
    expect([...changesOf(three, 1, 0)]).toEqual([4, 8]);
    expect([...changesOf(three, 0, 1)]).toEqual([-4, -8]);
  });

  it("change by at least what is known where one of them does not list a count", () => {
    const listed = { least: 40, reach: 8, changeReach: 9, changeMargin: 7 };
    const list = { ...series(weeks([1, 2]), 4), counts: Int16Array.of(0, 50, 60, 0, 45, 0, 41, 0), listed };
    expect([...changesOf(list, 1, 0)]).toEqual([6, -11, -19, 0]);
    expect([0, 1, 2, 3].map((region) => changeMarginOf(list, 1, 0, region))).toEqual([null, null, 9 + 41, null]);
    expect([40, 47, 48].map((count) => marginOf(list, count))).toEqual([40, 47, 8]);
    expect(changeMarginOf(series(weeks([1, 2])), 1, 0, 0)).toBe(2);
  });

  it("have none before them where its map is not published", () => {
    const gap = series(weeks([1, 2, 4, 5]));
    expect([0, 1, 2, 3].map((at) => periodBefore(gap, at, 1))).toEqual([-1, 0, -1, 2]);
  });

  it("are compared with the week that began on the same day of the week a year before", () => {
    const long = series(weeks(Array.from({ length: 60 }, (_, index) => index + 1)));
    expect(yearBefore(long, 52)).toBe(0);
    expect(yearBefore(long, 51)).toBe(-1);
    expect(yearBefore(long, 59)).toBe(7);
  });

  it("are compared with the month of the same name", () => {
    const month = (year: number, name: string, last: number): Period => ({
      number: 12 * (year - 2025) + Number(name), from: `${year}-${name}-01`, to: `${year}-${name}-${last}`, release: "", total: 0,
    });
    const periods = [month(2025, "01", 31), month(2025, "02", 28), month(2025, "03", 31), month(2026, "02", 28)];
    expect(yearBefore(series(periods), 3)).toBe(1);
  });
});
