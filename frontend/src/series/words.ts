/** What the page says of a period: its days, its total, and its largest changes. */
import { changeMarginOf, changesOf, type OpenSeries, type Period, type Table } from "../data/series-array";
import { formatChange } from "../layers/changes";
import { element } from "../ui/dom";
import { formatMargin, formatNumber } from "../ui/format";
import { language, t } from "../ui/translate";

/** "5 Jan 2026 to 11 Jan 2026", or the one day. */
export function daysOf({ from, to }: Period): string {
  const format = new Intl.DateTimeFormat(language(), { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
  const day = (text: string): string => format.format(new Date(text));
  return from === to ? day(from) : t("{first} to {last}", { first: day(from), last: day(to) });
}

/** The total of a period in words and, where there is one, how it differs from that of another. */
export function tell(panel: HTMLElement, { series, scene }: OpenSeries, at: number, before: number): void {
  const period = series.periods[at]!;
  panel.querySelector(".days")!.textContent = daysOf(period);
  panel.querySelector(".place")!.textContent = t("{at} of {all}", { at: at + 1, all: series.periods.length });
  panel.querySelector(".total")!.replaceChildren(
    formatNumber(period.total),
    " ",
    element("span", "pm", `${formatMargin(period.margin ?? series.totalMargin ?? 0)} ${sumWords(series, t(scene.nouns.sum))}`),
  );
  panel.querySelector(".change")!.textContent = before < 0 || series.totalChangeMargin === null ? "" : changeWords(series.periods, series.totalChangeMargin, at, before);
}

function sumWords(table: Table, noun: string): string {
  return table.listed ? t("{noun} in the squares that are listed", { noun }) : noun;
}

function changeWords(periods: readonly Period[], margin: number, at: number, before: number): string {
  const change = periods[at]!.total - periods[before]!.total;
  const values = { change: formatNumber(Math.abs(change)), margin: formatMargin(margin), days: daysOf(periods[before]!) };
  if (Math.abs(change) <= margin) return t("No change since {days} that noise could not explain.", values);
  return change > 0 ? t("{change} more {margin} than on {days}.", values) : t("{change} fewer {margin} than on {days}.", values);
}

/** Largest number of changes in the table. */
const MOST = 8;

/** A change of one region. */
export type Changed = { region: number; change: number };

/** The regions whose change noise would not make, the largest first. */
export function changed(table: Table, at: number, before: number): Changed[] {
  const found: Changed[] = [];
  changesOf(table, at, before).forEach((change, region) => {
    if (Math.abs(change) > table.byNoise) found.push({ region, change });
  });
  return found.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}

/** Lists the largest changes since another period; hides the list where none is compared. */
export function listChanges(
  panel: HTMLElement,
  opened: OpenSeries,
  table: Table,
  at: number,
  before: number,
  nameOf: (region: number) => string,
): void {
  panel.hidden = before < 0;
  if (before < 0) return;
  const found = changed(table, at, before);
  panel.querySelector("h2")!.textContent = t("Largest changes since {days}", { days: daysOf(opened.series.periods[before]!) });
  panel.querySelector(".found")!.textContent = foundWords(opened, table, found.length);
  const most = Math.max(1, ...found.map(({ change }) => Math.abs(change)));
  panel.querySelector("tbody")!.replaceChildren(...found.slice(0, MOST).map(({ region, change }) => {
    const bar = element("span", change > 0 ? "more" : "fewer");
    bar.style.setProperty("--share", String(Math.abs(change) / most));
    const name = element("th", "", nameOf(region));
    name.scope = "row";
    const margin = changeMarginOf(table, at, before, region);
    const figure = margin === null
      ? [t("At least {change}", { change: formatChange(change) })]
      : [formatChange(change), " ", element("span", "pm", formatMargin(margin))];
    return element("tr", "", name, element("td", "diverging", bar), element("td", "r num", ...figure));
  }));
  panel.querySelector("table")!.hidden = found.length === 0;
}

function foundWords(opened: OpenSeries, table: Table, found: number): string {
  const count = formatNumber(found);
  if (table.listed) return t("Changes that are more than noise would make: {count}.", { count });
  const inside = opened.release.inside?.reduce((sum, each) => sum + each, 0) ?? table.regions;
  return t("In {count} of {all} places the change is more than noise would make.", { count, all: formatNumber(inside) });
}
