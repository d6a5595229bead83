import { describe, expect, it } from "vitest";
import type { Plan } from "./plan";
import {
  addTask,
  campaignTasks,
  EMPTY,
  plannedTasks,
  removeTask,
  replaceTasks,
  type State,
  typedTask,
} from "./state";
import { MOST_TASKS, type Task } from "./tasks";

const task = (name: string): Task => ({ name, longitude: 18, latitude: 59, reward: null });
const [a, b, c] = [task("a"), task("b"), task("c")];
const figures = { reward: 1, radius_metres: 10, notified: 2, success: 0.9, reason: "", explanation: "" };
const withPlan = (tasks: Task[]): State => ({
  tasks,
  selected: null,
  plan: { tasks: tasks.map((each) => ({ task: each, planned: figures })) } as unknown as Plan,
});
const names = (state: State) => state.tasks.map(({ name }) => name);

describe("the planner's tasks", () => {
  it("are added at the end and selected, until there are as many as can be planned", () => {
    const state = addTask({ ...EMPTY, tasks: [a] }, b)!;
    expect([names(state), state.selected]).toEqual([["a", "b"], 1]);
    expect(addTask({ ...EMPTY, tasks: Array(MOST_TASKS).fill(a) }, b)).toBeNull();
  });

  it("are removed by their place and leave none selected", () => {
    const state = removeTask({ ...EMPTY, tasks: [a, b, c], selected: 2 }, 1);
    expect([names(state), state.selected]).toEqual([["a", "c"], null]);
    expect(replaceTasks({ ...EMPTY, tasks: [a], selected: 0 }, [b])).toMatchObject({ tasks: [b], selected: null });
  });

  it("do not change in a state that is kept", () => {
    const before = withPlan([a, b]);
    addTask(before, c);
    removeTask(before, 0);
    expect(names(before)).toEqual(["a", "b"]);
  });
});

describe("the plan of tasks", () => {
  const planned = (state: State) => plannedTasks(state).map(({ planned }) => planned !== null);

  it("is shown beside the task that it was made for, and beside no other", () => {
    expect(planned(withPlan([a, b]))).toEqual([true, true]);
    expect(planned(addTask(withPlan([a, b]), c)!)).toEqual([true, true, false]);
    expect(planned(removeTask(withPlan([a, b, c]), 0))).toEqual([false, false]);
    expect(planned({ ...EMPTY, tasks: [a] })).toEqual([false]);
  });

  it("is not that of another task that looks the same", () => {
    expect(planned(replaceTasks(withPlan([a]), [{ ...a }]))).toEqual([false]);
  });
});

describe("a typed task", () => {
  it("is named by its number where it has no name, and may have no reward", () => {
    expect(typedTask({ name: " ", longitude: " 18.5", latitude: "59", reward: "" }, 4)).toEqual({
      name: "4", longitude: 18.5, latitude: 59, reward: null,
    });
    expect(typedTask({ name: "Quay", longitude: "18", latitude: "59", reward: "0" }, 1).reward).toBe(0);
  });

  it("of a campaign may lack anything", () => {
    expect(campaignTasks([{}, { name: "Quay", longitude: 0, latitude: 0, reward: 0 }])).toEqual([
      { name: "1", longitude: null, latitude: null, reward: null },
      { name: "Quay", longitude: 0, latitude: 0, reward: 0 },
    ]);
  });
});
