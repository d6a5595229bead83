/** Reader of task files: CSV with a header, or GeoJSON points. */
import { t } from "../ui/translate";
import { MOST_TASKS, type Task, taskOf } from "./tasks";

/** Thrown for a file that holds no tasks; the message is for the person who chose it. */
export class UnreadableTasks extends Error {}

export function readTasks(text: string): Task[] {
  const start = text.replace(/^\uFEFF/, "").trimStart();
  const tasks = start.startsWith("{") ? readGeoJson(start) : readCsv(start);
  if (tasks.length === 0) {
    throw new UnreadableTasks(t("This file contains no tasks. Give CSV with columns longitude and latitude, or GeoJSON points."));
  }
  if (tasks.length > MOST_TASKS) {
    throw new UnreadableTasks(t("This file contains {count} tasks, and {most} can be planned at once. Divide it.", { count: tasks.length, most: MOST_TASKS }));
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
    throw new UnreadableTasks(t("The first line names no columns longitude and latitude, or lon and lat. Rename them."));
  }
  return lines.map((cells, index) => taskOf(cells[x], cells[y], cells[name] || String(index + 1), cells[reward]));
}

function separatorOf(text: string): string {
  const line = text.slice(0, text.search(/[\r\n]|$/));
  return [",", ";", "\t"].reduce((best, each) => (line.split(each).length > line.split(best).length ? each : best));
}

/** RFC 4180: quoted cells may hold separators, quotes and line ends. */
function rows(text: string, separator: string): string[][] {
  const complete: string[][] = [];
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
      if (row.some((each) => each !== "")) complete.push(row);
      row = [];
    } else cell += sign;
  }
  end();
  if (row.some((each) => each !== "")) complete.push(row);
  return complete;
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
    throw new UnreadableTasks(t("This file begins like GeoJSON but is not. Export it again."));
  }
  const features = document.type === "Feature" ? [document] : (document.features ?? []);
  return features.map(({ properties, geometry }, index) => {
    const named = NAME.map((name) => properties?.[name]).find((each) => each !== undefined && each !== null);
    const reward = REWARD.map((name) => properties?.[name]).find((each) => each !== undefined);
    const [longitude, latitude] = (geometry?.type === "Point" && geometry.coordinates) || [];
    return taskOf(longitude, latitude, String(named ?? index + 1), reward);
  });
}
