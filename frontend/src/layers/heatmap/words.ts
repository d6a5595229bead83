/** Texts of the heatmap: its legend, and the figures of a cell or box. */
import type { BoxLayer, ReleaseArray } from "../../data/release-array";
import type { Reading } from "../../data/surface";
import type { Square } from "../../geometry/square";
import { formatMargin, formatNumber } from "../../ui/format";
import { message, t } from "../../ui/translate";
import type { Show } from "../map-layer";
import { doubtNote, marginRange } from "../uncertainty";

type Counting = ReleaseArray["counting"];

const TITLES: Record<Show, Record<Counting, string>> = {
  estimate: { people: message("People per {side} square"), visits: message("Visits per {side} square") },
  margin: {
    people: message("Margin (±) of people per {side} square"),
    visits: message("Margin (±) of visits per {side} square"),
  },
};

export function legendTitle(show: Show, counting: Counting, { side }: Square, { slice, title }: BoxLayer): string {
  return t(TITLES[show][counting], { side }) + (slice ? `, ${t(title)}` : "");
}

/** The margins of all counts, in a sentence. */
export function marginSentence(layer: BoxLayer, counting: Counting): string {
  const values = {
    range: marginRange(layer.noise.map(({ margin }) => margin)),
    counting: t(counting),
    how: provenance(layer.noise[0]!.label),
  };
  return layer.boxes
    ? t("Each box, small or large, is {range} {counting}{how}.", values)
    : t("Each cell is {range} {counting}{how}.", values);
}

/** How a margin was computed, where it is not exact; the labels are those of `postprocess.layers`. */
function provenance(label: string): string {
  if (label === "nominal") return t(", by a formula");
  if (label === "calibrated") return t(", as measured on invented maps");
  return label === "noise only" ? t(", for the noise alone") : "";
}

export type Spoken = { figure: string; margin: string; note: string };

/** The figure of a cell or box, its margin, and a note where one is needed. */
export function speak(reading: Reading, counting: Counting, square: Square): Spoken {
  const { value, noise, cells, standsOut } = reading;
  const notes: string[] = [];
  if (cells > 1) {
    const each = formatNumber((value / cells) * square.cells);
    const count = formatNumber(cells);
    notes.push(t("in {count} cells, {each} per {side} square", { count, each, side: square.side }));
  }
  const doubt = doubtNote(value, standsOut);
  if (doubt) notes.push(doubt);
  return { figure: formatNumber(value), margin: `${formatMargin(noise.margin)} ${t(counting)}`, note: notes.join("; ") };
}
