import { describe, expect, it } from "vitest";
import { formatMetres, formatNumber, formatShort, speak } from "./format";
import { hatchCover, HATCH_PITCH } from "../canvas/hatch";
import { toDegrees, toMercator } from "../geometry/mercator";
import { graduation } from "../canvas/neatline";
import { formatLink, type Link, NO_LINK, parseLink, roundView } from "../release/permalink";
import { mix, parseHex } from "../colour/ramps";
import { squareFor } from "../geometry/square";

describe("numbers", () => {
  it("are whole from ten on, with a true minus sign and no negative zero", () => {
    expect([1234567, -12.4, 0.0234, -0.2, 3, -0].map(formatNumber)).toEqual([
      "1,234,567", "\u221212", "0.023", "\u22120.2", "3", "0",
    ]);
    expect([9999, 25000].map(formatShort)).toEqual(["9,999", "25k"]);
    expect([173.2, 1234].map(formatMetres)).toEqual(["170\u00a0m", "1.2\u00a0km"]);
  });

  it("come with their margin and a word of doubt", () => {
    const box = { top: 0, bottom: 1, left: 0, right: 1 };
    const noise = { margin: 12, threshold: 26, label: "exact noise" };
    const square = { side: "170 m", metres: 170, cells: 1 };
    const say = (value: number, cells = 1) =>
      speak({ box, cells, value, noise, standsOut: value >= 26 }, "people", square);
    expect(say(236)).toEqual({ figure: "236", margin: "\u00b1 12 people", note: "" });
    expect(say(19).note).toBe("cannot be told from zero");
    expect(say(-4).note).toBe("noise can push a count below zero");
    expect(say(800, 8).note).toBe("in 8 cells, 100 per 170 m square");
  });
});

describe("the square that densities are stated for", () => {
  it("is a cell where a cell holds whole people", () => {
    expect(squareFor(170, 26)).toEqual({ side: "170\u00a0m", metres: 170, cells: 1 });
  });

  it("is round and large enough otherwise", () => {
    const square = squareFor(87, 0.018);
    expect(square.side).toBe("1\u00a0km");
    expect(0.018 * square.cells).toBeGreaterThanOrEqual(1);
  });
});

describe("the permalink", () => {
  it("comes back as it was", () => {
    const link: Link = {
      view: { zoom: 12.639, latitude: 55.660128, longitude: -12.58 },
      layer: "estimate", show: "margin", ramp: "ember", scale: "quantile", opacity: 65,
      compare: "aB_-9", divider: 0, corners: [[12.5, 55.6], [12.61234, 55.6], [-0.00001, -55.7]],
    };
    expect(parseLink(formatLink(link))).toEqual(link);
    expect(formatLink(parseLink(formatLink(link)))).toBe(formatLink(link));
    expect(formatLink(NO_LINK)).toBe("");
  });

  it("holds a view to a hundredth of a pixel", () => {
    const view = { zoom: 17.123456, latitude: 55.66012812345, longitude: 12.58 };
    expect(roundView(view)).toEqual({ zoom: 17.123, latitude: 55.66012812, longitude: 12.58 });
    expect(roundView(roundView(view))).toEqual(roundView(view));
  });

  it.each(["", "#", "#map=", "#map=a/b/c", "#map=99/0/0", "#map=3/91/0", "#map=3/1", "#%%%=&&", "#show=all",
    "#ramp=rainbow", "#scale=cubic", "#opacity=-1", "#opacity=9", "#opacity=1e2", "#divider=101",
    "#compare=../x", "#area=1,2;3,4", "#area=1,2;3,;5,6", "#area=1,91;2,2;3,3", "#area=1,2,3;4,5,6;7,8,9"])(
    "leaves nonsense out: %s",
    (hash) => expect(parseLink(hash)).toEqual(NO_LINK),
  );
});

describe("drawing", () => {
  it("projects there and back", () => {
    const { x, y } = toMercator({ longitude: 116.4, latitude: 39.9 });
    expect(x).toBeCloseTo(12957588.7, 0);
    expect(toDegrees(x, y).latitude).toBeCloseTo(39.9, 9);
  });

  it("mixes colours and refuses what is none", () => {
    expect(mix("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(parseHex("#fb0")).toEqual([255, 187, 0]);
    expect(() => parseHex("red")).toThrow("red");
  });

  it("hatches at 45 degrees with the same distance everywhere", () => {
    expect(hatchCover(0, 0, 1)).toBeGreaterThan(0.9);
    expect(hatchCover(3, -3, 1)).toBe(hatchCover(0, 0, 1));
    expect(hatchCover(HATCH_PITCH / 2, 0, 1)).toBe(0);
  });

  it("graduates the frame in round degrees", () => {
    expect(graduation(0.001)).toBe(0.05);
  });
});
