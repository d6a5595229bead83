/** The legend: never closed, so that no picture of a map is without it. */
import type { CellImage } from "./cell-image";
import { element } from "./dom";
import { formatMargin, formatShort } from "./format";
import type { Show } from "./permalink";
import type { Surface } from "./surface";

/** What is to be said of a margin that is not the whole truth; see `postprocess.layers`. */
const QUALIFIED: Record<string, string> = {
  nominal: ", by a formula",
  "noise only": ", for the noise alone",
};

export type Facts = { counting: string; epsilon: string; date: string };

export function drawLegend(
  legend: HTMLElement,
  surface: Surface,
  image: CellImage,
  show: Show,
  facts: Facts,
): void {
  const { side } = image.square;
  const subject = facts.counting === "visits" ? "Visits" : "People";
  const title =
    show === "margin"
      ? `Margin (\u00b1) of ${subject.toLowerCase()} per ${side} square`
      : `${subject} per ${side} square`;
  const key = element("div", "key", ...ramp(image, show));
  if (show === "estimate") {
    key.append(element("div", "swatch hatch"), element("span", "words", "Cannot be told from zero"));
  }
  legend.replaceChildren(
    element("h2", "label", title),
    key,
    element("p", "xs quiet", `${marginWords(surface, facts.counting)} `, ...stamp(facts)),
  );
}

function ramp(image: CellImage, show: Show): HTMLElement[] {
  if (image.edges.length === 0) return [];
  const count = image.edges.length;
  const steps = image.steps.map((step) => element("i", `swatch tide-${step}`));
  const row = element("div", "ramp", ...steps);
  const labels = image.edges.map((edge) => element("span", "", formatShort(edge)));
  const axis = element("div", "axis", ...labels);
  for (const part of [row, axis]) part.style.setProperty("--classes", String(count));
  const words = show === "margin" ? "Larger is less sure" : "Stands out from noise";
  return [row, element("span", "words", words), axis, element("span", "filler")];
}

/** How sure the counts are, in a sentence. */
function marginWords(surface: Surface, counting: string): string {
  const margins = surface.layer.noise.map((noise) => noise.margin);
  const low = formatMargin(Math.min(...margins));
  const high = formatMargin(Math.max(...margins));
  const what = surface.layer.boxes ? "Each box, small or large, is" : "Each cell is";
  const range = low === high ? low : `${low} to ${high}`;
  const label = surface.layer.noise[0]!.label;
  return `${what} ${range} ${counting}${QUALIFIED[label] ?? ""}.`;
}

function stamp({ epsilon, date }: Facts): (Node | string)[] {
  const mark = element("span", "eps", "\u03b5");
  return [element("span", "num", mark, ` ${epsilon}`), date ? `, ${date}` : ""];
}
