import { describe, expect, it } from "vitest";
import { formatPlanLink, parsePlanLink, readTasks, UnreadableTasks } from "./planner-tasks";

describe("tasks in files", () => {
  it("are read from CSV by the names of columns, whatever separates them", () => {
    const { tasks, skipped } = readTasks('name;lat;lon;reward\n"Quay; lamps";59.3;18.05;7\n"Say ""hi""";59.2;18;\n');
    expect(skipped).toBe(0);
    expect(tasks).toEqual([
      { name: "Quay; lamps", longitude: 18.05, latitude: 59.3, reward: 7 },
      { name: 'Say "hi"', longitude: 18, latitude: 59.2, reward: null },
    ]);
  });

  it("are skipped where they have no position", () => {
    const { tasks, skipped } = readTasks("longitude,latitude\n18,59\nnan,59\n,\n18,far\n");
    expect(tasks.length).toBe(1);
    expect(skipped).toBe(2 + 0);
  });

  it("are read from GeoJSON points", () => {
    const point = { type: "Feature", properties: { name: "A" }, geometry: { type: "Point", coordinates: [18, 59, 4] } };
    const line = { type: "Feature", properties: null, geometry: { type: "LineString", coordinates: [] } };
    const { tasks, skipped } = readTasks(JSON.stringify({ type: "FeatureCollection", features: [point, line] }));
    expect(tasks).toEqual([{ name: "A", longitude: 18, latitude: 59, reward: null }]);
    expect(skipped).toBe(1);
  });

  it("are refused in words where there are none", () => {
    expect(() => readTasks("a,b\n1,2\n")).toThrow(UnreadableTasks);
    expect(() => readTasks("{")).toThrow(UnreadableTasks);
    expect(() => readTasks("")).toThrow(UnreadableTasks);
  });
});

describe("links to plans", () => {
  it("hold tasks and settings exactly", () => {
    const tasks = [{ name: "Quay, & lamps; 1", longitude: 18.05123, latitude: -59.3, reward: 7 }];
    const link = formatPlanLink(tasks, { target: "90", model: "field" });
    expect(parsePlanLink(link)).toEqual({ tasks, settings: { target: "90", model: "field" } });
    expect(formatPlanLink([], {})).toBe("");
  });
});
