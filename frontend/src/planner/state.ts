/** State of the planner: tasks, the selected one and the last plan, changed by plain functions. */
import type { Campaign } from "../data/api";
import type { Plan, PlannedTask } from "./plan";
import { MOST_TASKS, type Task } from "./tasks";

export type State = {
  readonly tasks: readonly Task[];
  /** The index of the task that is picked out. */
  readonly selected: number | null;
  /** The last plan, perhaps of tasks as they were before the last change. */
  readonly plan: Plan | null;
};

export const EMPTY: State = { tasks: [], selected: null, plan: null };

/** Adds a task and selects it; null where there are as many as can be planned. */
export function addTask(state: State, task: Task): State | null {
  if (state.tasks.length >= MOST_TASKS) return null;
  return { ...state, tasks: [...state.tasks, task], selected: state.tasks.length };
}

export function removeTask(state: State, index: number): State {
  return { ...state, tasks: state.tasks.filter((_, each) => each !== index), selected: null };
}

export function replaceTasks(state: State, tasks: readonly Task[]): State {
  return { ...state, tasks, selected: null };
}

/** Each task with its part of the plan, and with none where it changed since. */
export function plannedTasks({ tasks, plan }: State): PlannedTask[] {
  return tasks.map((task, index) => {
    const planned = plan?.tasks[index];
    return planned?.task === task ? planned : { task, planned: null };
  });
}

/** A task as typed into the form's fields; without a name it is called by its number. */
export function typedTask(fields: Record<string, string>, number: number): Task {
  const text = (name: string): string => (fields[name] ?? "").trim();
  return {
    name: text("name") || String(number),
    longitude: Number(text("longitude")),
    latitude: Number(text("latitude")),
    reward: text("reward") === "" ? null : Number(text("reward")),
  };
}

/** The tasks of a campaign, which may lack names, positions and rewards. */
export function campaignTasks(tasks: Campaign["tasks"]): Task[] {
  return (tasks as Partial<Task>[]).map(({ name, longitude, latitude, reward }, index) => ({
    name: String(name ?? index + 1),
    longitude: longitude ?? null,
    latitude: latitude ?? null,
    reward: reward ?? null,
  }));
}
