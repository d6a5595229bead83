import { describe, expect, it } from "vitest";
import type { Plan as PlanAnswer } from "../data/api";
import { planCsv, planGeoJson } from "./export";
import { planOf } from "./plan";
import { dotPlot, mostNotified } from "./table";
import type { Task } from "./tasks";
import { figuresOf } from "./totals";

const tasks: Task[] = [
  { name: "=Quay, \"lamps\"", longitude: 18, latitude: 60, reward: null },
  { name: "Nowhere", longitude: null, latitude: null, reward: 9 },
];
const met = (reward: number, notified: number) => ({
  reward, radius_metres: 100, notified, notified_margin: 0.5, acceptance: 0.9, success: 0.9, reason: "", explanation: "",
});
const unmet = { reward: null, radius_metres: null, notified: null, notified_margin: null, acceptance: null, success: 0.2, reason: "no_position", explanation: "It has no position." };
const totals = (planned: number, notified: number) => ({ planned, not_planned: 1, reward: 40, notified, expected_done: 0.9, largest_radius_metres: 100 });
const outline = { type: "Polygon", coordinates: [[[18, 60], [18.1, 60], [18.1, 60.1], [18, 60]]] };
const answer: PlanAnswer = {
  release: "r",
  lines_per_km2: [10],
  totals: { uniform: totals(0, 7), optimal: totals(1, 4.5) },
  tasks: [
    {
      name: "Quay", longitude: 18, latitude: 60, density_per_km2: 5, plans: { uniform: met(20, 7), optimal: met(31, 4.5) },
      geocast: { regions: 2, notified: 3, success: 0.95, reached: true, outline },
    },
    { name: "Nowhere", longitude: null, latitude: null, density_per_km2: null, plans: { uniform: unmet, optimal: unmet }, geocast: null },
  ],
  geocast: { allocation: "optimal", planned: 1, not_planned: 1, met_both_ways: 1, notified: 3, notified_in_circles: 4.5 },
};
const { geocast: _, ...withoutRegions } = answer;

describe("a plan", () => {
  const plan = planOf(tasks, answer, "optimal");

  it("holds each task's part by equal rewards and by the chosen allocation", () => {
    expect(plan.tasks.map(({ task }) => task)).toEqual(tasks);
    expect([plan.tasks[0]!.uniform!.reward, plan.tasks[0]!.chosen!.reward]).toEqual([20, 31]);
    expect([plan.uniform.planned, plan.chosen.planned]).toEqual([0, 1]);
    expect(plan.tasks[1]!.geocast).toBeNull();
    expect(planOf(tasks, withoutRegions, "uniform").geocast).toBeNull();
  });

  it("is summed up in figures, those of regions only where they were grown", () => {
    expect(figuresOf(plan)).toEqual({
      "met-even": { value: "0", of: "2" }, "met-chosen": { value: "1", of: "2" }, "met-regions": { value: "1", of: "2" },
      "notified-even": { value: "7" }, "notified-chosen": { value: "4.5" },
      "notified-circles": { value: "4.5" }, "notified-regions": { value: "3" },
    });
    expect(Object.keys(figuresOf(planOf(tasks, withoutRegions, "optimal")))).toHaveLength(4);
  });

  it("is drawn to the scale of the task that notifies most", () => {
    expect(mostNotified(plan.tasks)).toBe(7);
    expect(mostNotified([])).toBe(1);
    expect(dotPlot(7, 0, 7)).toContain('class="before" cx="89"');
    expect(dotPlot(7, 0, 7)).toContain('class="moved" d="M89 9H5"');
    expect(dotPlot(null, 7, 7)).not.toMatch(/moved|before/);
  });
});

describe("a plan in a file", () => {
  const plan = planOf(tasks, answer, "optimal");

  it("is CSV with quoted cells that no spreadsheet runs", () => {
    const [header, first, second] = planCsv(plan).split("\r\n");
    expect(header).toMatch(/^name,longitude,latitude,uniform_reward,.*,allocated_reason,geocast_regions,geocast_notified,geocast_success$/);
    expect(first).toMatch(/^"'=Quay, ""lamps""",18,60,20,100,7,0.5,0.9,0.9,,31,100,4.5,/);
    expect(first).toMatch(/,2,3,0.95$/);
    expect(second).toMatch(/^Nowhere,,,,,,,,0.2,no_position,/);
    expect(planCsv(planOf(tasks, withoutRegions, "optimal"))).not.toContain("geocast");
  });

  it.each([
    ["Quay;=1", `"Quay;'=1"`],
    ["\u00a0\u200b\uff1d1", `"'\u00a0\u200b\uff1d1"`],
    ['a\t"@b', `"a\t'""@b"`],
    ["-5", `"'-5"`],
    ["50+cmd|1", `"50+cmd|1"`],
    ["Quay-5", "Quay-5"],
    ["", ""],
  ])("has no formula after any separator in %j", (name, cell) => {
    const named = { ...plan, tasks: plan.tasks.slice(0, 1).map((each) => ({ ...each, task: { ...each.task, name } })) };
    expect(planCsv(named).split("\r\n")[1]).toContain(`${cell},18,60,20,`);
    expect(planCsv(named).split("\r\n")[1]!.startsWith(cell)).toBe(true);
  });

  it("is GeoJSON with the task, its circle and its regions", () => {
    const { features } = JSON.parse(planGeoJson(plan)) as GeoJSON.FeatureCollection;
    expect(features.map(({ properties }) => properties!.feature)).toEqual(["task", "circle", "regions", "task"]);
    expect(features[2]!.geometry).toEqual(outline);
    expect(features[3]!.geometry).toBeNull();
    const ring = (features[1]!.geometry as GeoJSON.Polygon).coordinates[0]!;
    expect(ring).toHaveLength(65);
    expect(ring[0]).toEqual(ring[64]);
    // A hundred metres at 60 degrees north are twice as many degrees across as up.
    expect(ring[0]![0]! - 18).toBeCloseTo(2 * (ring[16]![1]! - 60), 5);
    expect(ring[16]![1]! - 60).toBeCloseTo(0.000899, 6);
  });
});
