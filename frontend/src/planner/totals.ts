/** The sums of a plan: tasks met and people notified, by each way to divide the reward. */
import { element, need } from "../ui/dom";
import { formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import type { Plan } from "./plan";

type Figure = { value: string; /** Out of how many. */ of?: string };

/** The figures of a plan by the names that the page gives their places. */
export function figuresOf({ tasks, uniform, chosen, geocast }: Plan): Record<string, Figure> {
  const count = formatNumber(tasks.length);
  const met = (planned: number): Figure => ({ value: formatNumber(planned), of: count });
  const notified = (people: number): Figure => ({ value: formatNumber(people) });
  return {
    "met-even": met(uniform.planned),
    "met-chosen": met(chosen.planned),
    "notified-even": notified(uniform.notified),
    "notified-chosen": notified(chosen.notified),
    ...(geocast && {
      "met-regions": met(geocast.planned),
      "notified-circles": notified(geocast.notified_in_circles),
      "notified-regions": notified(geocast.notified),
    }),
  };
}

export function showTotals(plan: Plan | null): void {
  const result = need<HTMLElement>(document, "#result");
  result.hidden = !plan;
  if (!plan) return;
  for (const each of document.querySelectorAll<HTMLElement>("[data-geocast]")) each.hidden = !plan.geocast;
  for (const [name, { value, of }] of Object.entries(figuresOf(plan))) {
    const whole = of === undefined ? [] : [element("small", "", ` ${t("of {count}", { count: of })}`)];
    need(result, `[data-figure=${name}]`).replaceChildren(value, ...whole);
  }
}
