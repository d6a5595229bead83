import type { Feature, LineString, Polygon } from "geojson";
import { describe, expect, it } from "vitest";
import { arcOutline, arcWidth, northward } from "./arcs";
import { type Choice, choiceOf, type FlowProperties, MOST_ARCS, type RegionProperties } from "./choice";
import { labelsOf } from "./drawing";

const NAMES = ["A", "B", "C"];

function region(at: number, estimate: number): Feature<Polygon, RegionProperties> {
  const ring = [[at, 0], [at + 1, 0], [at + 1, 1], [at, 1], [at, 0]];
  const properties = { key: NAMES[at] ?? `r${at}`, name: NAMES[at] ?? `r${at}`, estimate, margin: 9, threshold: 20, other: 3, other_margin: 12 };
  return { type: "Feature", properties, geometry: { type: "Polygon", coordinates: [ring] } };
}

function flow(origin: string, destination: string, estimate: number): Feature<LineString, FlowProperties> {
  const geometry: LineString = { type: "LineString", coordinates: [[0, 0], [1, 1]] };
  return { type: "Feature", properties: { origin, destination, estimate, margin: 5 }, geometry };
}

function choice(): Choice {
  const flows = [flow("A", "B", 40), flow("C", "B", 90), flow("B", "A", 30)];
  return choiceOf(flows, [80, 60, 95].map((value, at) => region(at, value)), [35, 140, 1].map((value, at) => region(at, value)));
}

describe("a choice of flows", () => {
  it("opens on the region with most arrivals, its largest flow first", () => {
    const opened = choice();
    expect(opened.region?.key).toBe("B");
    expect(opened.shown.map((each) => [opened.partner(each).key, each.value])).toEqual([["C", 90], ["A", 40]]);
  });

  it("turns to departures when the same region is taken again, and back", () => {
    const taken = choice();
    const { region } = taken;
    taken.take(region);
    expect(taken.direction).toBe("departures");
    expect(taken.shown.map((each) => taken.partner(each).key)).toEqual(["A"]);
    taken.take(region);
    expect(taken.direction).toBe("arrivals");
  });

  it("has the sums of the chosen slice of time", () => {
    const sliced = (at: number) => {
      const each = region(at, 100);
      Object.assign(each.properties, { "count_00-12": 30 + at, "other_00-12": 2, "other_margin_00-12": 8, slice_margin: 6, slice_threshold: 14 });
      return each;
    };
    const [first] = choiceOf([], [sliced(0)], [sliced(0)], "00-12").regions;
    expect(first!.arrivals).toEqual({ value: 30, margin: 6, threshold: 14, other: 2, otherMargin: 8 });
  });

  it("shows the largest of all without a region, and never more arcs than may be seen at a time", () => {
    const regions = Array.from({ length: 50 }, (_, at) => region(at, 100));
    const keys = regions.map(({ properties }) => properties.key);
    const many = choiceOf(keys.slice(1).map((key, at) => flow(key, keys[0]!, 100 + at)), regions, regions);
    many.take(null);
    expect(many.shown).toHaveLength(49);
    expect(many.arcs).toHaveLength(MOST_ARCS);
    expect(many.arcs[0]!.value).toBe(148);
  });

  it("holds no region where no flow is listed", () => {
    expect(choiceOf([], [region(0, 5)], [region(0, 5)]).region).toBeNull();
  });
});

describe("labels of regions", () => {
  it("name the chosen region, and the others with the counts of their flows, largest first", () => {
    const labels = labelsOf(choice());
    expect(labels.map(({ text }) => text)).toEqual(["B", "C\n90", "A\n40"]);
    // The arc from C in the east leaves northwards, bent to its right, and the one from A southwards.
    expect(labels.map(({ below }) => Math.sign(below))).toEqual([1, 1, -1]);
  });

  it("lie where no arc of a departure ends", () => {
    const flows = choice();
    flows.take(flows.region);
    // From B to A in the west, bent to the north, the arc comes down at its end.
    expect(labelsOf(flows).map(({ text, below }) => [text, Math.sign(below)])).toEqual([["B", 1], ["A\n30", 1]]);
  });

  it("tell the arrivals that stand out where no region is chosen", () => {
    const flows = choice();
    flows.take(null);
    expect(labelsOf(flows).map(({ text }) => text)).toEqual(["B\n140", "A\n35"]);
  });
});

describe("an arc", () => {
  const [from, to] = [{ x: 0, y: 0 }, { x: 100, y: 0 }];

  it("is broad where trips begin and thin where they end", () => {
    const outline = arcOutline(from, to, 10);
    const distance = (a: number, b: number): number => Math.hypot(outline[a]!.x - outline[b]!.x, outline[a]!.y - outline[b]!.y);
    expect(distance(0, outline.length - 1)).toBeCloseTo(10);
    expect(distance(outline.length / 2 - 1, outline.length / 2)).toBeCloseTo(1.2);
  });

  it("is bent to the right, so that there and back differ", () => {
    const middle = (outline: { y: number }[]): number => outline[12]!.y;
    expect(middle(arcOutline(from, to, 1))).toBeLessThan(-10);
    expect(middle(arcOutline(to, from, 1))).toBeGreaterThan(10);
  });

  it("goes where its outline goes, at both ends", () => {
    const ends = [{ x: 100, y: 0 }, { x: -80, y: 20 }, { x: 5, y: -90 }, { x: 30, y: 60 }];
    for (const end of ends) {
      const outline = arcOutline({ x: 0, y: 0 }, end, 1e-6);
      const half = outline.length / 2;
      const rises = (at: number): boolean => outline[at + 1]!.y > outline[at]!.y;
      expect(northward({ x: 0, y: 0 }, end)).toEqual({ begins: rises(0), ends: rises(half - 2) });
    }
  });

  it("has a width in proportion to its count, but is never too thin to see", () => {
    expect(arcWidth(50, 100)).toBe(arcWidth(100, 100) / 2);
    expect(arcWidth(1, 1e6)).toBe(3);
  });
});
