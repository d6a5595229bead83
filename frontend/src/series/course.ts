/** A line over the periods with its intervals, as a picture whose figures stand in a table beside it. */
import type { Period } from "../data/series-array";
import { language } from "../ui/translate";

/** A value of each period, null where there is none, and the half-width of its interval. */
export type Course = { values: readonly (number | null)[]; margins: readonly (number | null)[] };

const NAMESPACE = "http://www.w3.org/2000/svg";

/** Space for names of months below and for the mark above, in pixels. */
const TOP = 8;
const BOTTOM = 20;
const SIDE = 10;

/** Least distance of two names of months, in pixels. */
const APART = 34;

/**
 * Draws a course into a picture of the width that it has on the page. `at` is the period shown, and
 * `before` the one that it is compared with, or -1. Periods stand where their time is, so that
 * missing ones leave a gap.
 */
export function drawCourse(svg: SVGSVGElement, periods: readonly Period[], course: Course, at: number, before = -1): void {
  const width = Math.max(120, svg.clientWidth);
  const height = Math.max(60, svg.clientHeight);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const x = horizontal(periods, width);
  const y = vertical(course, height);
  const known = periods.map((_, index) => index).filter((index) => course.values[index] != null);
  const point = (index: number, off = 0): string =>
    `${x(index).toFixed(1)} ${y(course.values[index]! + off * (course.margins[index] ?? 0)).toFixed(1)}`;
  const parts = [part("path", { class: "base", d: `M0 ${y(0).toFixed(1)}h${width}` }), ...months(periods, x, height)];
  if (known.length) {
    const upper = known.map((index) => point(index, 1));
    const lower = [...known].reverse().map((index) => point(index, -1));
    parts.push(part("path", { class: "range", d: `M${[...upper, ...lower].join("L")}Z` }));
    parts.push(part("path", { class: "line", d: `M${known.map((index) => point(index)).join("L")}` }));
  }
  for (const index of known) {
    const kind = index === at ? "dot at" : index === before ? "dot before" : "dot";
    const r = index === at || index === before ? 5 : 2;
    parts.push(part("circle", { class: kind, cx: x(index).toFixed(1), cy: y(course.values[index]!).toFixed(1), r: String(r) }));
  }
  svg.replaceChildren(...parts);
}

/** The period that stands nearest to a distance in pixels from a picture's left edge. */
export function periodAt(periods: readonly Period[], width: number, distance: number): number {
  const x = horizontal(periods, Math.max(120, width));
  let nearest = 0;
  periods.forEach((_, index) => {
    if (Math.abs(x(index) - distance) < Math.abs(x(nearest) - distance)) nearest = index;
  });
  return nearest;
}

function horizontal(periods: readonly Period[], width: number): (index: number) => number {
  const first = periods[0]!.number;
  const span = Math.max(1, periods.at(-1)!.number - first);
  return (index) => SIDE + ((periods[index]!.number - first) / span) * (width - 2 * SIDE);
}

/** From zero, so that small changes look small. */
function vertical({ values, margins }: Course, height: number): (value: number) => number {
  let low = 0;
  let high = 1;
  values.forEach((value, index) => {
    if (value === null) return;
    const margin = margins[index] ?? 0;
    low = Math.min(low, value - margin);
    high = Math.max(high, value + margin);
  });
  return (value) => TOP + ((high - value) / (high - low)) * (height - TOP - BOTTOM);
}

/** Names of the months that begin, as far as they do not touch. */
function months(periods: readonly Period[], x: (index: number) => number, height: number): SVGElement[] {
  const format = new Intl.DateTimeFormat(language(), { month: "short", timeZone: "UTC" });
  const parts: SVGElement[] = [];
  let [month, end] = ["", -Infinity];
  periods.forEach(({ from }, index) => {
    const name = from.slice(0, 7);
    if (name === month) return;
    month = name;
    if (x(index) < end) return;
    end = x(index) + APART;
    const text = part("text", { x: (x(index) - 2).toFixed(1), y: String(height - 5) });
    text.textContent = name.endsWith("-01") ? name.slice(0, 4) : format.format(new Date(from));
    parts.push(part("path", { class: "month", d: `M${x(index).toFixed(1)} ${TOP}V${height - BOTTOM}` }), text);
  });
  return parts;
}

function part(name: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
