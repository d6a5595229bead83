import { describe, expect, it } from "vitest";
import { readTasks, UnreadableTasks } from "./task-files";
import { MOST_TASKS } from "./tasks";

describe("tasks in files", () => {
  it("are read from CSV by the names of columns, whatever separates them", () => {
    const tasks = readTasks('name;lat;lon;reward\n"Quay; lamps";59.3;18.05;7\n"Say ""hi""";59.2;18;\n');
    expect(tasks).toEqual([
      { name: "Quay; lamps", longitude: 18.05, latitude: 59.3, reward: 7 },
      { name: 'Say "hi"', longitude: 18, latitude: 59.2, reward: null },
    ]);
  });

  it("are kept where they have no position or no reward, for the server to answer", () => {
    const tasks = readTasks("longitude,latitude,reward\n18,59,\nnan,59,seven\n,\n18,far,NaN\n");
    expect(tasks).toEqual([
      { name: "1", longitude: 18, latitude: 59, reward: null },
      { name: "2", longitude: null, latitude: 59, reward: "seven" },
      { name: "3", longitude: 18, latitude: null, reward: "NaN" },
    ]);
  });

  it("are read from GeoJSON points", () => {
    const point = { type: "Feature", properties: { name: "A" }, geometry: { type: "Point", coordinates: [18, 59, 4] } };
    const line = { type: "Feature", properties: null, geometry: { type: "LineString", coordinates: [] } };
    const tasks = readTasks(JSON.stringify({ type: "FeatureCollection", features: [point, line] }));
    expect(tasks).toEqual([
      { name: "A", longitude: 18, latitude: 59, reward: null },
      { name: "2", longitude: null, latitude: null, reward: null },
    ]);
  });

  it("are refused in words where there are none", () => {
    expect(() => readTasks("a,b\n1,2\n")).toThrow(UnreadableTasks);
    expect(() => readTasks("{")).toThrow(UnreadableTasks);
    expect(() => readTasks("")).toThrow(UnreadableTasks);
  });

  it("may have line ends of any machine, a byte order mark, and quoted line ends", () => {
    const tasks = readTasks('\uFEFFName\tX\tY\r\n"Two\nlines"\t18\t59\r\n\r\nLast\t17\t58');
    expect(tasks.map(({ name, longitude }) => [name, longitude])).toEqual([["Two\nlines", 18], ["Last", 17]]);
  });

  it("are refused where there are more than can be planned at once", () => {
    const rows = (count: number): string => `lon,lat\n${"18,59\n".repeat(count)}`;
    expect(readTasks(rows(MOST_TASKS))).toHaveLength(MOST_TASKS);
    expect(() => readTasks(rows(MOST_TASKS + 1))).toThrow("3001");
  });
});
