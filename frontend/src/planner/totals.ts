/** The sums of a plan: tasks met and people notified. */
import { element, need } from "../ui/dom";
import { formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import type { Plan } from "./plan";

type Figure = { value: string; /** Out of how many. */ of?: string };

/** The figures of a plan by the names that the page gives their places. */
export function figuresOf({ tasks, totals }: Plan): Record<string, Figure> {
  return {
    met: { value: formatNumber(totals.planned), of: formatNumber(tasks.length) },
    notified: { value: formatNumber(totals.notified) },
    reward: { value: formatNumber(totals.reward) },
  };
}

export function showTotals(plan: Plan | null): void {
  const result = need<HTMLElement>(document, "#result");
  result.hidden = !plan;
  if (!plan) return;
  for (const [name, { value, of }] of Object.entries(figuresOf(plan))) {
    const whole = of === undefined ? [] : [element("small", "", ` ${t("of {count}", { count: of })}`)];
    need(result, `[data-figure=${name}]`).replaceChildren(value, ...whole);
  }
}
