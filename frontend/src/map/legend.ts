/** Legend of a map. It cannot be closed, so that no picture of the map is without it. */
import type { LegendContent } from "../layers/map-layer";
import { element } from "../ui/dom";
import { edgeText } from "../ui/format";
import { t } from "../ui/translate";

/** Where a map leaves little room, the margins of error are folded. */
const SMALL = "(max-width: 720px)";

/** Least space between two numbers of the legend, in pixels. */
const GAP = 4;

/** What a legend says of the release besides its layer. */
export type Facts = { epsilon: string; date: string };

export function factsOf(frame: HTMLElement): Facts {
  return { epsilon: frame.dataset.epsilon ?? "", date: frame.dataset.date ?? "" };
}

export function drawLegend(legend: HTMLElement, content: LegendContent, facts: Facts): void {
  const key = element("div", "key", ...ramp(content));
  for (const { swatch, words, size } of content.keys) {
    const sign = element("div", `swatch ${swatch}`);
    if (size) sign.style.setProperty("--size", `${size.toFixed(1)}px`);
    key.append(sign, element("span", "words", words));
  }
  const more = element("details", "more xs quiet", element("summary", "", t("How certain")));
  more.append(element("p", "", `${content.note} `, ...stamp(facts)));
  more.open = !matchMedia(SMALL).matches || (legend.querySelector<HTMLDetailsElement>(".more")?.open ?? false);
  legend.replaceChildren(element("h2", "label", content.title), key, more);
  const axis = key.querySelector<HTMLElement>(".axis");
  if (axis) new ResizeObserver(() => thinOut(axis)).observe(axis);
}

/** Hide numbers that would touch the one before. */
function thinOut(axis: HTMLElement): void {
  let end = -Infinity;
  for (const number of axis.querySelectorAll("span")) {
    const { left, right } = number.getBoundingClientRect();
    const fits = left >= end + GAP;
    number.style.visibility = fits ? "" : "hidden";
    if (fits && right > left) end = right;
  }
}

/** Lower edges stand where two classes meet. */
function ramp({ classes, words }: LegendContent): HTMLElement[] {
  if (classes.length === 0) return [];
  const row = element("div", "ramp", ...classes.map(({ step }) => element("i", `swatch step-${step}`)));
  const axis = element(
    "div",
    "axis",
    ...classes.map(({ from }, at) => element("span", at ? "between" : "", edgeText(from, classes.length))),
  );
  for (const part of [row, axis]) part.style.setProperty("--classes", String(classes.length));
  if (!words) {
    for (const part of [row, axis]) part.classList.add("wide");
    return [row, axis];
  }
  return [row, element("span", "words", words), axis, element("span", "filler")];
}

function stamp({ epsilon, date }: Facts): (Node | string)[] {
  if (!epsilon) return [date];
  const mark = element("span", "eps", "\u03b5");
  return [element("span", "num", mark, ` ${epsilon}`), date ? `, ${date}` : ""];
}
