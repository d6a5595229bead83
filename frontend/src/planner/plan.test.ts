import { describe, expect, it } from "vitest";
import type { Plan as PlanAnswer } from "../data/api";
import { planCsv, planGeoJson } from "./export";
import { planOf } from "./plan";
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
const placed = { name: "Quay", longitude: 18, latitude: 60, density_per_km2: 5 };
const nowhere = { name: "Nowhere", longitude: null, latitude: null, density_per_km2: null };
const answer: PlanAnswer = {
  release: "r",
  totals: { planned: 1, not_planned: 1, reward: 31, notified: 4.5, expected_done: 0.9, largest_radius_metres: 100 },
  tasks: [{ ...placed, ...met(31, 4.5) }, { ...nowhere, ...unmet }],
};

describe("a plan", () => {
  const plan = planOf(tasks, answer);

  it("holds each task's part", () => {
    expect(plan.tasks.map(({ task }) => task)).toEqual(tasks);
    expect(plan.tasks.map(({ planned }) => planned!.reward)).toEqual([31, null]);
  });

  it("is summed up in figures", () => {
    expect(figuresOf(plan)).toEqual({ met: { value: "1", of: "2" }, notified: { value: "4.5" }, reward: { value: "31" } });
  });
});

describe("a plan in a file", () => {
  const plan = planOf(tasks, answer);

  it("is CSV with quoted cells that no spreadsheet runs", () => {
    const [header, first, second] = planCsv(plan).split("\r\n");
    expect(header).toBe("name,longitude,latitude,reward,radius_metres,notified,notified_margin,acceptance,success,reason");
    expect(first).toBe(`"'=Quay, ""lamps""",18,60,31,100,4.5,0.5,0.9,0.9,`);
    expect(second).toBe("Nowhere,,,,,,,,0.2,no_position");
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
    expect(planCsv(named).split("\r\n")[1]).toContain(`${cell},18,60,31,`);
    expect(planCsv(named).split("\r\n")[1]!.startsWith(cell)).toBe(true);
  });

  it("is GeoJSON with the task and its circle", () => {
    const { features } = JSON.parse(planGeoJson(plan)) as GeoJSON.FeatureCollection;
    expect(features.map(({ properties }) => properties!.feature)).toEqual(["task", "circle", "task"]);
    expect(features[2]!.geometry).toBeNull();
    const ring = (features[1]!.geometry as GeoJSON.Polygon).coordinates[0]!;
    expect(ring).toHaveLength(65);
    expect(ring[0]).toEqual(ring[64]);
    // A hundred metres at 60 degrees north are twice as many degrees across as up.
    expect(ring[0]![0]! - 18).toBeCloseTo(2 * (ring[16]![1]! - 60), 5);
    expect(ring[16]![1]! - 60).toBeCloseTo(0.000899, 6);
  });
});
