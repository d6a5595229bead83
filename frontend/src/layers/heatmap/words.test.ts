import { describe, expect, it } from "vitest";
import type { BoxLayer } from "../../data/release-array";
import { squareOf } from "../../geometry/square";
import { legendTitle, marginSentence, speak } from "./words";

const noise = { margin: 12, threshold: 26, label: "exact noise" };
const cells = { kind: "measured", title: "Counts of cells", noise: [noise], boxes: null } as unknown as BoxLayer;
const boxes = { ...cells, boxes: new Uint16Array(4) } as BoxLayer;
const people = { one: "people", sum: "people" };
const box = { top: 0, bottom: 1, left: 0, right: 1 };

describe("what a flag says of a cell", () => {
  const say = (value: number, count = 1, metres = 100, layer = cells, nouns = people) =>
    speak(
      { box: { ...box, right: count }, cells: count, value, noise, standsOut: value >= 26 },
      layer, nouns, squareOf(metres, 100), 100,
    );

  it("is its count where the map is stated for such a square", () => {
    expect(say(236)).toEqual({ figure: "236", margin: "\u00b1 12 people", note: "in this 100\u00a0m square" });
  });

  it("is a figure in the map's unit, and the count itself, where it has another size", () => {
    expect(say(800, 8, 100, boxes)).toEqual({
      figure: "About 100",
      margin: "people per 100\u00a0m square",
      note: "800 \u00b1 12 in this box, 800\u00a0m by 100\u00a0m",
    });
    expect(say(100, 1, 200)).toEqual({
      figure: "About 400",
      margin: "people per 200\u00a0m square",
      note: "100 \u00b1 12 in this 100\u00a0m square",
    });
  });

  it("calls a box's count sightings where somebody may count in several of its squares", () => {
    const several = { one: "people", sum: "sightings" };
    expect(say(800, 8, 100, boxes, several).margin).toBe("people per 100\u00a0m square");
    expect(say(800, 8, 100, boxes, several).note).toBe("800 \u00b1 12 sightings in this box, 800\u00a0m by 100\u00a0m");
    expect(say(100, 1, 200, cells, several).margin).toBe("sightings per 200\u00a0m square");
    expect(say(236, 1, 100, cells, several).margin).toBe("\u00b1 12 people");
  });

  it("says of what noise could explain that it cannot be told from none", () => {
    expect(say(9)).toEqual({ figure: "Too few to tell from none", margin: "", note: "9 \u00b1 12 in this 100\u00a0m square" });
    expect(say(19).figure).toBe("Too few to tell from none");
    expect(say(19).note).toBe("19 \u00b1 12 in this 100\u00a0m square; among so many squares, noise alone can reach this");
    expect(say(-4).note).toBe("\u22124 \u00b1 12 in this 100\u00a0m square; noise can push a count below zero");
  });

  it("says that an estimate is one, and of which time a slice is", () => {
    expect(say(236, 1, 100, { ...cells, kind: "inferred" }).note).toBe("in this 100\u00a0m square, estimated");
    expect(say(236, 1, 100, { ...cells, slice: true, title: "noon to 3 pm" }).note).toBe("in this 100\u00a0m square, noon to 3 pm");
  });
});

describe("the legend of a heatmap", () => {
  it("names the same unit as its flags", () => {
    expect(legendTitle("estimate", people, squareOf(100, 100), cells)).toBe("People in a 100\u00a0m square");
    expect(legendTitle("estimate", { one: "trips", sum: "trips" }, squareOf(200, 217), cells)).toBe("Trips per 200\u00a0m square");
    expect(legendTitle("estimate", people, squareOf(100, 100), boxes)).toBe("People per 100\u00a0m square");
  });

  it("states margins of figures per square, and of boxes as they were counted", () => {
    expect(marginSentence(cells, [12], people, squareOf(200, 100))).toBe("The figure of each 200\u00a0m square is give or take 48 people.");
    expect(marginSentence({ ...cells, kind: "inferred" }, [3, 12], people, squareOf(200, 100))).toBe(
      "Smoothed. Press a square to see its margin of error; the data files have all of them.",
    );
    expect(marginSentence({ ...cells, kind: "inferred" }, [3, 12], people, squareOf(100, 97))).toBe("The figure of each 100\u00a0m square is give or take 3 to 12 people.");
    expect(marginSentence(cells, [1], people, squareOf(100, 100))).toBe("The figure of each 100\u00a0m square is give or take 1 person.");
    expect(marginSentence(cells, [], people, squareOf(100, 100))).toBe("The figure of each 100\u00a0m square is give or take 12 people.");
    expect(marginSentence(boxes, [12], people, squareOf(100, 100))).toBe(
      "Margins are those of whole squares or boxes as counted, not of a 100\u00a0m square: each count is give or take 12 people.",
    );
  });
});
