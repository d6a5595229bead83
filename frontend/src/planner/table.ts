/** The table of tasks, with what the plan says of each. */
import { element, need } from "../ui/dom";
import { formatMetres, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import type { Geocast, Planned, PlannedTask } from "./plan";

/** More tasks are on the map and in the files alone. */
const MOST_ROWS = 200;

export type RowActions = { select: (index: number) => void; remove: (index: number) => void };

export function showTable(tasks: readonly PlannedTask[], selected: number | null, actions: RowActions): void {
  const table = need<HTMLTableElement>(document, "#tasks");
  need<HTMLElement>(document, "#no-tasks").hidden = tasks.length > 0;
  table.parentElement!.hidden = tasks.length === 0;
  const most = mostNotified(tasks);
  const rows = tasks.slice(0, MOST_ROWS).map((task, index) => {
    const row = rowOf(task, index, most, actions);
    row.classList.toggle("on", index === selected);
    return row;
  });
  table.tBodies[0]!.replaceChildren(...rows);
  const more = need<HTMLElement>(document, "#more-tasks");
  more.hidden = tasks.length <= MOST_ROWS;
  more.textContent = t("The first {shown} of {count} tasks; all are on the map and in the files.", {
    shown: MOST_ROWS,
    count: formatNumber(tasks.length),
  });
}

/** The most people that any task notifies, by which all rows are scaled. */
export function mostNotified(tasks: readonly PlannedTask[]): number {
  return tasks.reduce(
    (most, { uniform, chosen }) => Math.max(most, uniform?.notified ?? 0, chosen?.notified ?? 0),
    1,
  );
}

function rowOf(planned: PlannedTask, index: number, most: number, { select, remove }: RowActions): HTMLTableRowElement {
  const { task, uniform, chosen } = planned;
  const name = element("button", "name", element("span", "no", String(index + 1)), ` ${task.name}`);
  name.type = "button";
  name.addEventListener("click", () => select(index));
  const removal = element("button", "remove", "\u00d7");
  removal.type = "button";
  removal.setAttribute("aria-label", t("Remove {name}", { name: task.name }));
  removal.addEventListener("click", () => remove(index));
  const unmet = chosen && chosen.radius_metres === null && (uniform?.radius_metres ?? null) === null;
  const cells = unmet ? [reasonCell(chosen)] : figureCells(planned, most);
  return element("tr", "", element("td", "", name), ...cells, element("td", "r", removal));
}

function reasonCell(planned: Planned): HTMLTableCellElement {
  const cell = element("td", "why small", t(planned.explanation), remainingChance(planned));
  // On a phone the column of distances is not there.
  cell.colSpan = matchMedia("(max-width: 720px)").matches ? 3 : 4;
  return cell;
}

function figureCells({ uniform, chosen, geocast }: PlannedTask, most: number): HTMLTableCellElement[] {
  return [
    element("td", "r num", reward(uniform)),
    element("td", "r num new", reward(chosen)),
    element("td", "r num reach", chosen?.radius_metres ? formatMetres(chosen.radius_metres) : ""),
    element("td", "people", ...people(uniform, chosen, most), ...(geocast ? [inRegions(geocast)] : [])),
  ];
}

/** The chance that is left for a task that misses the target. */
function remainingChance({ success }: Planned): string {
  if (success === null) return "";
  return ` ${t("Notifying everybody in reach would succeed with {chance} %.", { chance: formatNumber(success * 100) })}`;
}

function reward(planned: Planned | null): string {
  if (!planned) return "";
  return planned.radius_metres === null ? t("not met") : formatNumber(planned.reward ?? 0);
}

/** People notified both ways: two dots on one line, and the figure with its margin. */
function people(uniform: Planned | null, chosen: Planned | null, most: number): (Node | string)[] {
  const [before, after] = [notified(uniform), notified(chosen)];
  const holder = element("span", "dumb");
  holder.setAttribute("aria-hidden", "true");
  holder.innerHTML = dotPlot(before, after, most);
  const margin = chosen?.notified_margin ?? null;
  const figure = after === null ? "" : formatNumber(after);
  const doubt = margin === null || !figure ? "" : ` \u00b1 ${formatNumber(margin)}`;
  return [holder, element("span", "num", figure, element("span", "pm", doubt))];
}

function notified(planned: Planned | null): number | null {
  return planned?.radius_metres ? planned.notified : null;
}

/** SVG of one line with a dot for each figure; the scale is the square root, for figures span magnitudes. */
export function dotPlot(before: number | null, after: number | null, most: number): string {
  const x = (value: number): number => 5 + 84 * Math.sqrt(value / most);
  const dots =
    (before !== null && after !== null ? `<path class="moved" d="M${x(before)} 9H${x(after)}"/>` : "") +
    (before === null ? "" : `<circle class="before" cx="${x(before)}" cy="9" r="3.5"/>`) +
    (after === null ? "" : `<circle class="after" cx="${x(after)}" cy="9" r="4.5"/>`);
  return `<svg viewBox="0 0 94 18"><path class="base" d="M5 9h84"/>${dots}</svg>`;
}

function inRegions({ notified, regions, reached }: Geocast): Node {
  const words = reached
    ? t("in regions ({count}): {people}", { people: formatNumber(notified), count: regions })
    : t("regions do not suffice");
  return element("span", "xs quiet by-regions", words);
}
