/** Tasks as an operator enters them: by clicks, files and links. */
import { t } from "../ui/translate";

/** What is no number stays as it was typed, or null: the server answers it with its reason. */
export type Task = { name: string; longitude: number | null; latitude: number | null; reward: number | string | null };

export const MOST_TASKS = 10_000;
/** More do not fit an address that mail and chat keep whole. */
export const MOST_LINKED = 150;

/** A file is not one of tasks; the message is for the person who chose it. */
export class UnreadableTasks extends Error {}

/** Reads CSV with a header, or GeoJSON points. */
export function readTasks(text: string): Task[] {
  const start = text.replace(/^\uFEFF/, "").trimStart();
  const tasks = start.startsWith("{") ? readGeoJson(start) : readCsv(start);
  if (tasks.length === 0) {
    throw new UnreadableTasks(t("This file holds no task. Give CSV with columns longitude and latitude, or GeoJSON points."));
  }
  if (tasks.length > MOST_TASKS) {
    throw new UnreadableTasks(t("This file holds {count} tasks, and {most} are planned at once. Divide it.", { count: tasks.length, most: MOST_TASKS }));
  }
  return tasks;
}

const LONGITUDE = ["longitude", "lon", "lng", "long", "x"];
const LATITUDE = ["latitude", "lat", "y"];
const NAME = ["name", "task", "title", "id"];
const REWARD = ["reward", "fixed_reward"];

function readCsv(text: string): Task[] {
  const [first = [], ...lines] = rows(text, separatorOf(text));
  const header = first.map((name) => name.trim().toLowerCase());
  const column = (names: string[]): number => header.findIndex((name) => names.includes(name));
  const [x, y, name, reward] = [column(LONGITUDE), column(LATITUDE), column(NAME), column(REWARD)];
  if (x < 0 || y < 0) {
    throw new UnreadableTasks(t("The first line names no longitude and latitude. Call the columns so, or lon and lat."));
  }
  return lines.map((cells, index) => taskOf(cells[x], cells[y], cells[name] || String(index + 1), cells[reward]));
}

function separatorOf(text: string): string {
  const line = text.slice(0, text.search(/[\r\n]|$/));
  return [",", ";", "\t"].reduce((best, each) => (line.split(each).length > line.split(best).length ? each : best));
}

/** RFC 4180: quoted cells may hold separators, quotes and line ends. */
function rows(text: string, separator: string): string[][] {
  const found: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const end = (): void => {
    row.push(cell);
    cell = "";
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') cell += text[++at]!;
      else quoted = false;
    } else if (sign === '"' && cell === "") quoted = true;
    else if (sign === separator) end();
    else if (sign === "\n" || sign === "\r") {
      end();
      if (row.some((each) => each !== "")) found.push(row);
      row = [];
    } else cell += sign;
  }
  end();
  if (row.some((each) => each !== "")) found.push(row);
  return found;
}

type LooseFeature = {
  properties?: Record<string, unknown> | null;
  geometry?: { type?: string; coordinates?: unknown[] } | null;
};

function readGeoJson(text: string): Task[] {
  let document: { type?: string; features?: LooseFeature[] } & LooseFeature;
  try {
    document = JSON.parse(text);
  } catch {
    throw new UnreadableTasks(t("This file begins like GeoJSON and is not. Export it again."));
  }
  const features = document.type === "Feature" ? [document] : (document.features ?? []);
  return features.map(({ properties, geometry }, index) => {
    const named = NAME.map((name) => properties?.[name]).find((each) => each !== undefined && each !== null);
    const reward = REWARD.map((name) => properties?.[name]).find((each) => each !== undefined);
    const [longitude, latitude] = (geometry?.type === "Point" && geometry.coordinates) || [];
    return taskOf(longitude, latitude, String(named ?? index + 1), reward);
  });
}

function taskOf(longitude: unknown, latitude: unknown, name: string, reward: unknown): Task {
  const typed = String(reward ?? "").trim();
  return { name: name.slice(0, 200), longitude: number(longitude), latitude: number(latitude), reward: number(typed) ?? (typed || null) };
}

function number(value: unknown): number | null {
  const text = String(value ?? "").trim();
  const found = text === "" ? NaN : Number(text);
  return Number.isFinite(found) ? found : null;
}

/** Settings and tasks as they stand in a link: `#tasks=18.05,59.3,,Quay;...&target=0.9`. */
export function formatPlanLink(tasks: readonly Task[], settings: Record<string, string>): string {
  const parts = Object.entries(settings).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  if (tasks.length <= MOST_LINKED) {
    const listed = tasks.map(({ longitude, latitude, reward, name }) =>
      [longitude?.toFixed(5), latitude?.toFixed(5), encodeURIComponent(reward ?? ""), encodeURIComponent(name)].join(","),
    );
    if (listed.length) parts.push(`tasks=${listed.join(";")}`);
  }
  return parts.length ? `#${parts.join("&")}` : "";
}

export function parsePlanLink(hash: string): { tasks: Task[]; settings: Record<string, string> } {
  const settings: Record<string, string> = {};
  let tasks: Task[] = [];
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value = ""] = part.split(/=(.*)/s);
    if (name === "tasks") {
      const listed = value.split(";").map((each) => each.split(","));
      tasks = listed.map(([x, y, reward, text]) => taskOf(x, y, decoded(text ?? ""), decoded(reward ?? "")));
    } else if (name) settings[name] = decoded(value);
  }
  return { tasks: tasks.slice(0, MOST_LINKED), settings };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
