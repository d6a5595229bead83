import { describe, expect, it } from "vitest";
import { formatSeriesLink, parseSeriesLink } from "./link";

describe("the address of what is seen of a series", () => {
  it("is empty for the newest period", () => {
    expect(formatSeriesLink(parseSeriesLink(""))).toBe("");
  });

  it("keeps everything that was chosen", () => {
    for (const hash of ["#day=2026-01-05", "#day=2026-01-05&show=change", "#show=beside&beside=2026-01-05&smoothed"]) {
      expect(formatSeriesLink(parseSeriesLink(hash))).toBe(hash);
    }
  });

  it("ignores what it does not know", () => {
    expect(parseSeriesLink("#show=all&x=1")).toEqual({ shows: "period", day: "", beside: "", smooth: false });
  });
});
