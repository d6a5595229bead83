import { describe, expect, it } from "vitest";
import { speak } from "./words";

describe("what a flag says of a cell", () => {
  it("come with their margin and a word of doubt", () => {
    const box = { top: 0, bottom: 1, left: 0, right: 1 };
    const noise = { margin: 12, threshold: 26, label: "exact noise" };
    const square = { side: "170 m", metres: 170, cells: 1 };
    const say = (value: number, cells = 1) =>
      speak({ box, cells, value, noise, standsOut: value >= 26 }, "people", square);
    expect(say(236)).toEqual({ figure: "236", margin: "\u00b1 12 people", note: "" });
    expect(say(19).note).toBe("too few to tell from none");
    expect(say(-4).note).toBe("noise can push a count below zero");
    expect(say(800, 8).note).toBe("in 8 cells, 100 per 170 m square");
  });
});
