/** Asking the server for a plan: the last question wins. */
import type { Task } from "./planner-tasks";

export type Planned = {
  reward: number | null;
  radius_metres: number | null;
  notified: number | null;
  notified_margin: number | null;
  acceptance: number | null;
  success: number | null;
  reason: string;
  explanation: string;
};

export type PlannedTask = { task: Task; density: number | null; even: Planned | null; chosen: Planned | null };

export type Totals = {
  planned: number;
  not_planned: number;
  reward: number;
  notified: number;
  expected_done: number;
  largest_radius_metres: number;
};

export type Plan = { tasks: PlannedTask[]; even: Totals; chosen: Totals };

type Answer = {
  totals: Record<string, Totals>;
  tasks: { density_per_km2: number | null; plans: Record<string, Planned> }[];
};

export type Settings = Record<string, number | string>;

/** The server refused; the message is for the reader, `field` the setting at fault or "". */
export class Refused extends Error {
  constructor(message: string, readonly field: string) {
    super(message);
  }
}

export class Planner {
  private asking: AbortController | null = null;

  constructor(
    private readonly address: string,
    private readonly release: string,
  ) {}

  /** The plan, or null where another was asked for in the meantime. Raises Refused. */
  async plan(tasks: readonly Task[], settings: Settings, allocation: string): Promise<Plan | null> {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const body = { release: this.release, tasks, ...settings, allocations: ["uniform", allocation] };
    try {
      const response = await fetch(this.address, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal: asking.signal,
      });
      if (!response.ok) {
        const problem = (await response.json()) as { detail?: string; field?: string };
        throw new Refused(problem.detail ?? `The plan was refused (${response.status}).`, problem.field ?? "");
      }
      return joined(tasks, (await response.json()) as Answer, allocation);
    } catch (error) {
      if (asking.signal.aborted) return null;
      throw error;
    }
  }
}

function joined(tasks: readonly Task[], answer: Answer, allocation: string): Plan {
  return {
    tasks: tasks.map((task, index) => {
      const { density_per_km2: density, plans } = answer.tasks[index]!;
      return { task, density, even: plans.uniform!, chosen: plans[allocation]! };
    }),
    even: answer.totals.uniform!,
    chosen: answer.totals[allocation]!,
  };
}

const COLUMNS = ["reward", "radius_metres", "notified", "notified_margin", "acceptance", "success", "reason"] as const;

/** One row a task, both ways to share out the reward beside each other. */
export function planCsv(plan: Plan): string {
  const header = ["name", "longitude", "latitude", ...["even", "shared"].flatMap((way) => COLUMNS.map((each) => `${way}_${each}`))];
  const lines = plan.tasks.map(({ task, even, chosen }) => [
    task.name,
    task.longitude,
    task.latitude,
    ...[even, chosen].flatMap((planned) => COLUMNS.map((each) => planned?.[each] ?? "")),
  ]);
  return [header, ...lines].map((cells) => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/** Spreadsheets run cells that begin like formulas. */
function quoted(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** A point for every task, and the circle that it notifies as a polygon. */
export function planGeoJson(plan: Plan): string {
  const features = plan.tasks.flatMap(({ task, even, chosen }) => {
    const properties = {
      name: task.name,
      ...Object.fromEntries(COLUMNS.map((each) => [`even_${each}`, even?.[each] ?? null])),
      ...Object.fromEntries(COLUMNS.map((each) => [each, chosen?.[each] ?? null])),
    };
    const point = { type: "Point", coordinates: [task.longitude, task.latitude] };
    const found: object[] = [{ type: "Feature", properties: { ...properties, feature: "task" }, geometry: point }];
    if (chosen?.radius_metres) {
      const geometry = { type: "Polygon", coordinates: [circle(task, chosen.radius_metres)] };
      found.push({ type: "Feature", properties: { ...properties, feature: "circle" }, geometry });
    }
    return found;
  });
  return JSON.stringify({ type: "FeatureCollection", features });
}

const CORNERS = 64;
const METRES_PER_DEGREE = (Math.PI / 180) * 6371008.8;

function circle({ longitude, latitude }: Task, metres: number): number[][] {
  const across = metres / (METRES_PER_DEGREE * Math.cos((latitude * Math.PI) / 180));
  const up = metres / METRES_PER_DEGREE;
  return Array.from({ length: CORNERS + 1 }, (_, corner) => {
    const angle = (2 * Math.PI * (corner % CORNERS)) / CORNERS;
    return [longitude + across * Math.cos(angle), latitude + up * Math.sin(angle)].map((each) => Number(each.toFixed(6)));
  });
}
