/** A plan of tasks: the server's answer, each part beside the task that it is for. */
import type { MultiPolygon, Polygon } from "geojson";
import type { Plan as PlanAnswer } from "../data/api";
import type { Task } from "./tasks";

type TaskAnswer = PlanAnswer["tasks"][number];

/** What to do for a task by one way to divide the reward. */
export type Planned = TaskAnswer["plans"][string];

/** The regions of the map that are notified instead of a circle. */
export type Geocast = Omit<NonNullable<TaskAnswer["geocast"]>, "outline"> & { outline: Polygon | MultiPolygon };

export type PlannedTask = {
  task: Task;
  /** With equal rewards. */
  uniform: Planned | null;
  /** By the allocation that the operator chose. */
  chosen: Planned | null;
  geocast: Geocast | null;
};

// The server always sends every sum, though the schema calls them optional.
export type Totals = Required<PlanAnswer["totals"][string]>;
export type GeocastTotals = Required<NonNullable<PlanAnswer["geocast"]>>;

export type Plan = {
  tasks: PlannedTask[];
  uniform: Totals;
  chosen: Totals;
  /** Sums over the tasks that regions and circles both meet; null where no regions were grown. */
  geocast: GeocastTotals | null;
};

export function planOf(tasks: readonly Task[], answer: PlanAnswer, allocation: string): Plan {
  return {
    tasks: tasks.map((task, index) => {
      const { plans, geocast } = answer.tasks[index]!;
      return { task, uniform: plans.uniform!, chosen: plans[allocation]!, geocast: (geocast as Geocast | null) ?? null };
    }),
    uniform: answer.totals.uniform as Totals,
    chosen: answer.totals[allocation] as Totals,
    geocast: (answer.geocast as GeocastTotals | undefined) ?? null,
  };
}
