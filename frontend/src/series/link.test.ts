import { describe, expect, it } from "vitest";
import { formatSeriesLink, parseSeriesLink } from "./link";

describe("the address of what is seen of a series", () => {
  it("is empty for the newest period", () => {
    expect(formatSeriesLink(parseSeriesLink(""))).toBe("");
  });

  it("keeps everything that was chosen", () => {
    for (const hash of ["#day=2026-01-05", "#day=2026-01-05&show=change", "#show=beside&beside=2026-01-05&smoothed", "#day=2026-01-05&of=flows&place=12", "#area=1,2;3,4;5,6"]) {
      expect(formatSeriesLink(parseSeriesLink(hash))).toBe(hash);
    }
  });

  it("ignores what it does not know", () => {
    expect(parseSeriesLink("#show=all&x=1&of=none&place=-1&area=1,2")).toEqual({
      shows: "period", counted: "arrivals", day: "", beside: "", smooth: false, place: null, area: null,
    });
  });
});
