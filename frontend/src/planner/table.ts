/** The table of tasks, with what the plan says of each. */
import { element, need } from "../ui/dom";
import { formatMetres, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import type { Planned, PlannedTask } from "./plan";

/** More tasks are on the map and in the files alone. */
const MOST_ROWS = 200;

export type RowActions = { select: (index: number) => void; remove: (index: number) => void };

export function showTable(tasks: readonly PlannedTask[], selected: number | null, actions: RowActions): void {
  const table = need<HTMLTableElement>(document, "#tasks");
  need<HTMLElement>(document, "#no-tasks").hidden = tasks.length > 0;
  table.parentElement!.hidden = tasks.length === 0;
  const rows = tasks.slice(0, MOST_ROWS).map((task, index) => {
    const row = rowOf(task, index, actions);
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

function rowOf({ task, planned }: PlannedTask, index: number, { select, remove }: RowActions): HTMLTableRowElement {
  const name = element("button", "name", element("span", "no", String(index + 1)), ` ${task.name}`);
  name.type = "button";
  name.addEventListener("click", () => select(index));
  const removal = element("button", "remove", "\u00d7");
  removal.type = "button";
  removal.setAttribute("aria-label", t("Remove {name}", { name: task.name }));
  removal.addEventListener("click", () => remove(index));
  const unmet = planned && planned.radius_metres === null;
  const cells = unmet ? [reasonCell(planned)] : figureCells(planned);
  return element("tr", "", element("td", "", name), ...cells, element("td", "r", removal));
}

function reasonCell(planned: Planned): HTMLTableCellElement {
  const cell = element("td", "why small", t(planned.explanation), remainingChance(planned));
  // On a phone the column of distances is not there.
  cell.colSpan = matchMedia("(max-width: 720px)").matches ? 2 : 3;
  return cell;
}

function figureCells(planned: Planned | null): HTMLTableCellElement[] {
  return [
    element("td", "r num new", planned ? formatNumber(planned.reward ?? 0) : ""),
    element("td", "r num reach", planned ? formatMetres(planned.radius_metres ?? 0) : ""),
    element("td", "r num people", ...(planned ? people(planned) : [])),
  ];
}

/** The people notified, with their margin. */
function people({ notified, notified_margin }: Planned): (Node | string)[] {
  const doubt = notified_margin === null ? "" : ` \u00b1 ${formatNumber(notified_margin)}`;
  return [formatNumber(notified ?? 0), element("span", "pm", doubt)];
}

/** The chance that is left for a task that misses the target. */
function remainingChance({ success }: Planned): string {
  if (success === null) return "";
  return ` ${t("Notifying everybody in reach would succeed with {chance} %.", { chance: formatNumber(success * 100) })}`;
}
