/** Legend of a map. It cannot be closed, so that no picture of the map is without it. */
import type { LegendContent } from "../layers/map-layer";
import { element } from "../ui/dom";
import { formatShort } from "../ui/format";

/** What a legend says of the release besides its layer. */
export type Facts = { epsilon: string; date: string };

export function factsOf(frame: HTMLElement): Facts {
  return { epsilon: frame.dataset.epsilon ?? "", date: frame.dataset.date ?? "" };
}

export function drawLegend(legend: HTMLElement, content: LegendContent, facts: Facts): void {
  const key = element("div", "key", ...ramp(content));
  for (const { swatch, words } of content.keys) {
    key.append(element("div", `swatch ${swatch}`), element("span", "words", words));
  }
  legend.replaceChildren(
    element("h2", "label", content.title),
    key,
    element("p", "xs quiet", `${content.note} `, ...stamp(facts)),
  );
}

function ramp({ classes, words }: LegendContent): HTMLElement[] {
  if (classes.length === 0) return [];
  const row = element("div", "ramp", ...classes.map(({ step }) => element("i", `swatch step-${step}`)));
  const axis = element("div", "axis", ...classes.map(({ from }) => element("span", "", formatShort(from))));
  for (const part of [row, axis]) part.style.setProperty("--classes", String(classes.length));
  return [row, element("span", "words", words), axis, element("span", "filler")];
}

function stamp({ epsilon, date }: Facts): (Node | string)[] {
  if (!epsilon) return [date];
  const mark = element("span", "eps", "\u03b5");
  return [element("span", "num", mark, ` ${epsilon}`), date ? `, ${date}` : ""];
}
