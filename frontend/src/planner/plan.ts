/** A plan of tasks: the server's answer, each part beside the task that it is for. */
import type { Plan as PlanAnswer } from "../data/api";
import type { Task } from "./tasks";

/** Whom to notify of a task, and what to offer. */
export type Planned = PlanAnswer["tasks"][number];

export type PlannedTask = { task: Task; planned: Planned | null };

export type Plan = { tasks: PlannedTask[]; totals: PlanAnswer["totals"] };

export function planOf(tasks: readonly Task[], { tasks: planned, totals }: PlanAnswer): Plan {
  return { tasks: tasks.map((task, index) => ({ task, planned: planned[index]! })), totals };
}
