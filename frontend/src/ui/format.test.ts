import { describe, expect, it } from "vitest";
import { edgeText, formatMetres, formatNumber, formatShort } from "./format";

describe("numbers", () => {
  it("are whole from ten on, with a true minus sign and no negative zero", () => {
    expect([1234567, -12.4, 0.0234, -0.2, 3, -0].map(formatNumber)).toEqual([
      "1,234,567", "\u221212", "0.023", "\u22120.2", "3", "0",
    ]);
    expect([9999, 25000].map(formatShort)).toEqual(["9,999", "25k"]);
    expect([173.2, 1234].map(formatMetres)).toEqual(["170\u00a0m", "1.2\u00a0km"]);
  });

  it("of a legend's only class say that they are a lower edge", () => {
    expect([edgeText(12, 1), edgeText(25000, 1), edgeText(null, 1)]).toEqual(["12 or more", "25k or more", ""]);
    expect([edgeText(12, 2), edgeText(null, 2)]).toEqual(["12", ""]);
  });
});
