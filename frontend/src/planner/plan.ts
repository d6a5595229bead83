/** Asking the server for a plan: the last question wins. */
import { t } from "../ui/translate";
import type { Task } from "./tasks";

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

/** The regions of the map that are notified instead of a circle. */
export type Cast = { regions: number; notified: number; success: number; reached: boolean; outline: GeoJSON.Polygon | GeoJSON.MultiPolygon };

export type PlannedTask = { task: Task; even: Planned | null; chosen: Planned | null; cast: Cast | null };

export type Totals = {
  planned: number;
  not_planned: number;
  reward: number;
  notified: number;
  expected_done: number;
  largest_radius_metres: number;
};

/** Sums over the tasks that regions and circles both meet. */
export type Casts = { planned: number; met_both_ways: number; notified: number; notified_in_circles: number };

export type Plan = { tasks: PlannedTask[]; even: Totals; chosen: Totals; casts: Casts | null };

type Answer = {
  totals: Record<string, Totals>;
  tasks: { plans: Record<string, Planned>; geocast?: Cast | null }[];
  geocast?: Casts;
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
  async plan(tasks: readonly Task[], settings: Settings, allocation: string, geocast: boolean): Promise<Plan | null> {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const body = { release: this.release, tasks, ...settings, allocations: [allocation, "uniform"], geocast };
    try {
      const response = await fetch(this.address, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal: asking.signal,
      });
      if (!response.ok) {
        const problem = (await response.json()) as { detail?: string; field?: string };
        throw new Refused(problem.detail ?? t("The plan was refused ({status}).", { status: response.status }), problem.field ?? "");
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
      const { plans, geocast } = answer.tasks[index]!;
      return { task, even: plans.uniform!, chosen: plans[allocation]!, cast: geocast ?? null };
    }),
    even: answer.totals.uniform!,
    chosen: answer.totals[allocation]!,
    casts: answer.geocast ?? null,
  };
}

const REGIONS = ["regions", "notified", "success"] as const;
const COLUMNS = ["reward", "radius_metres", "notified", "notified_margin", "acceptance", "success", "reason"] as const;

/** One row a task, both ways to share out the reward beside each other. */
export function planCsv(plan: Plan): string {
  const header = ["name", "longitude", "latitude", ...["even", "shared"].flatMap((way) => COLUMNS.map((each) => `${way}_${each}`))];
  if (plan.casts) header.push(...REGIONS.map((each) => `geocast_${each}`));
  const lines = plan.tasks.map(({ task, even, chosen, cast }) => [
    task.name,
    task.longitude,
    task.latitude,
    ...[even, chosen].flatMap((planned) => COLUMNS.map((each) => planned?.[each] ?? "")),
    ...(plan.casts ? REGIONS.map((each) => cast?.[each] ?? "") : []),
  ]);
  return [header, ...lines].map((cells) => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/** Spreadsheets run cells that begin like formulas. */
function quoted(cell: string | number | null): string {
  if (typeof cell !== "string") return String(cell ?? "");
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** A point for every task, and the circle that it notifies as a polygon. */
export function planGeoJson(plan: Plan): string {
  const features = plan.tasks.flatMap(({ task, even, chosen, cast }) => {
    const properties = {
      name: task.name,
      ...Object.fromEntries(COLUMNS.map((each) => [`even_${each}`, even?.[each] ?? null])),
      ...Object.fromEntries(COLUMNS.map((each) => [each, chosen?.[each] ?? null])),
    };
    const { longitude, latitude } = task;
    const placed = longitude !== null && latitude !== null;
    const point = placed ? { type: "Point", coordinates: [longitude, latitude] } : null;
    const found: object[] = [{ type: "Feature", properties: { ...properties, feature: "task" }, geometry: point }];
    if (chosen?.radius_metres && placed) {
      const geometry = { type: "Polygon", coordinates: [circle(longitude, latitude, chosen.radius_metres)] };
      found.push({ type: "Feature", properties: { ...properties, feature: "circle" }, geometry });
    }
    if (cast?.regions) {
      const { outline, ...figures } = cast;
      found.push({ type: "Feature", properties: { name: task.name, ...figures, feature: "regions" }, geometry: outline });
    }
    return found;
  });
  return JSON.stringify({ type: "FeatureCollection", features });
}

const CORNERS = 64;
const METRES_PER_DEGREE = (Math.PI / 180) * 6371008.8;

function circle(longitude: number, latitude: number, metres: number): number[][] {
  const across = metres / (METRES_PER_DEGREE * Math.cos((latitude * Math.PI) / 180));
  const up = metres / METRES_PER_DEGREE;
  return Array.from({ length: CORNERS + 1 }, (_, corner) => {
    const angle = (2 * Math.PI * (corner % CORNERS)) / CORNERS;
    return [longitude + across * Math.cos(angle), latitude + up * Math.sin(angle)].map((each) => Number(each.toFixed(6)));
  });
}
