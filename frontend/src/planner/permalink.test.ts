import { describe, expect, it } from "vitest";
import { formatPlanLink, parsePlanLink } from "./permalink";
import { MOST_LINKED } from "./tasks";

const task = { name: "Quay", longitude: 18.05, latitude: 59.3, reward: null };

describe("the planner's link", () => {
  it("holds tasks and settings exactly", () => {
    const tasks = [
      { name: "Quay, & lamps; 1", longitude: 18.05123, latitude: -59.3, reward: 7 },
      { name: "Nowhere", longitude: null, latitude: 59.3, reward: "4,5; or so" },
    ];
    const link = formatPlanLink(tasks, { target: "90", worker_share: "7" });
    expect(parsePlanLink(link)).toEqual({ tasks, fields: { target: "90", worker_share: "7" } });
    expect(formatPlanLink([], {})).toBe("");
  });

  it("leaves out tasks that would make it too long, and keeps the settings", () => {
    const link = formatPlanLink(Array(MOST_LINKED + 1).fill(task), { target: "90" });
    expect(link).toBe("#target=90");
    expect(parsePlanLink(formatPlanLink(Array(MOST_LINKED).fill(task), {})).tasks).toHaveLength(MOST_LINKED);
  });

  it("is read as far as it makes sense", () => {
    expect(parsePlanLink("")).toEqual({ tasks: [], fields: {} });
    expect(parsePlanLink("#target=%zz&=x&tasks=far,59,,A")).toEqual({
      tasks: [{ name: "A", longitude: null, latitude: 59, reward: null }],
      fields: { target: "%zz" },
    });
    expect(parsePlanLink(`#tasks=${Array(MOST_LINKED + 5).fill("18,59,,A").join(";")}`).tasks).toHaveLength(MOST_LINKED);
  });
});
