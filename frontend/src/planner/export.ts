/** Plans as files to take away: CSV and GeoJSON. */
import { circleAround } from "../geometry/circles";
import type { Plan } from "./plan";

/** Corners of a circle. */
const CORNERS = 64;

const COLUMNS = ["reward", "radius_metres", "notified", "notified_margin", "acceptance", "success", "reason"] as const;

/** One row for each task. */
export function planCsv(plan: Plan): string {
  const header = ["name", "longitude", "latitude", ...COLUMNS];
  const lines = plan.tasks.map(({ task, planned }) => [
    task.name,
    task.longitude,
    task.latitude,
    ...COLUMNS.map((each) => planned?.[each] ?? ""),
  ]);
  return [header, ...lines].map((cells) => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/**
 * The beginning of a text, a separator or a line break, before what a spreadsheet may take for a formula. It may
 * expect a comma, a semicolon or a tab between cells; blanks and quotation marks before the sign do not hinder it.
 * `core/csv_text.py` has the same rule.
 */
const BEGINNING =
  /(?:^|[,;\t\r\n])(?=["\s\x1C-\x1F\x85\xAD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u206F]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\t\r])/g;

/** A cell of CSV. Wherever a formula would begin, there is an apostrophe; all but plain words are quoted. */
function quoted(cell: string | number | null): string {
  if (typeof cell !== "string") return String(cell ?? "");
  if (/^(\w[\w:.+-]*)?$/.test(cell)) return cell;
  return `"${cell.replace(BEGINNING, "$&'").replace(/"/g, '""')}"`;
}

/** A point for every task, and the circle that it notifies as a polygon. */
export function planGeoJson(plan: Plan): string {
  const features = plan.tasks.flatMap(({ task, planned }) => {
    const properties = {
      name: task.name,
      ...Object.fromEntries(COLUMNS.map((each) => [each, planned?.[each] ?? null])),
    };
    const { longitude, latitude } = task;
    const placed = longitude !== null && latitude !== null;
    const point = placed ? { type: "Point", coordinates: [longitude, latitude] } : null;
    const parts: object[] = [{ type: "Feature", properties: { ...properties, feature: "task" }, geometry: point }];
    if (planned?.radius_metres && placed) {
      const geometry = { type: "Polygon", coordinates: [circle(longitude, latitude, planned.radius_metres)] };
      parts.push({ type: "Feature", properties: { ...properties, feature: "circle" }, geometry });
    }
    return parts;
  });
  return JSON.stringify({ type: "FeatureCollection", features });
}

function circle(longitude: number, latitude: number, metres: number): number[][] {
  return circleAround({ longitude, latitude }, metres, CORNERS).map((corner) =>
    corner.map((degrees) => Number(degrees.toFixed(6))),
  );
}
