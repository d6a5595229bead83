import { describe, expect, it } from "vitest";
import { classOf } from "../colour/classes";
import { changeEdges, changeWording, formatChange, smoothWording } from "./changes";

const people = { one: "people", sum: "sightings" };

describe("classes of changes", () => {
  it("never colour what noise would make, and are the same for more and for fewer", () => {
    const edges = changeEdges(27);
    expect([-200, -108, -60, -27].map((change) => classOf(change, edges))).toEqual([0, 1, 1, 2]);
    expect([27, 53, 54, 108].map((change) => classOf(change, edges))).toEqual([4, 4, 5, 6]);
    expect([-26, 0, 26].map((change) => classOf(change, edges))).toEqual([3, 3, 3]);
  });
});

describe("what is said of changes", () => {
  const { legend, words } = changeWording(people, { margin: 8, byNoise: 26, marginOf: () => 8 }, "5 Jan 2026");

  it("is their size and margin where they stand out, and else that noise could be all", () => {
    expect(words(40, true, "in this 500 m square", 0)).toEqual({
      figure: "+40",
      margin: "\u00b1 8 people",
      note: "in this 500 m square, 5 Jan 2026",
    });
    expect(words(-9, false, "", 0)).toEqual({
      figure: "No change that noise could not explain",
      margin: "",
      note: "\u22129 \u00b1 8",
    });
    expect(formatChange(0)).toBe("0");
  });

  it("states in the legend from which change on places are coloured, and how sure that is", () => {
    const { classes, note } = legend("500 m");
    expect(classes!.map(({ from }) => from)).toEqual([null, -108, -54, -27, 27, 54, 108]);
    expect(note).toContain("at least 27");
    expect(note).toContain("19 of 20");
  });

  it("is the least that is known where one of two maps lists no count", () => {
    const ofList = changeWording(people, { margin: null, byNoise: 26, marginOf: () => null }, "5 Jan 2026", "Title");
    expect(ofList.words(40, true, "", 3)).toEqual({ figure: "At least +40", margin: "people", note: "5 Jan 2026" });
    expect(ofList.words(0, false, "", 3).note).toBe("");
    expect(ofList.legend("500 m").title).toBe("Title");
    expect(ofList.legend("").note).toContain("lists a count");
  });

  it("gives smoothed counts no margin", () => {
    expect(smoothWording(people).words(4.25, true, "", 0)).toEqual({ figure: "About 4.3", margin: "people", note: "smoothed" });
    expect(smoothWording(people).words(0, false, "", 0).figure).toBe("Too few to tell from none");
  });
});
