/** Texts of the heatmap: its legend, and the figures of a cell or box. */
import type { BoxLayer, Nouns } from "../../data/release-array";
import type { Reading } from "../../data/surface";
import type { Square } from "../../geometry/square";
import { capital, formatMargin, formatMetres, formatNumber } from "../../ui/format";
import { message, t } from "../../ui/translate";
import type { Show } from "../map-layer";
import { plainRange } from "../uncertainty";

const TITLES: Record<Show, string> = {
  estimate: message("{noun} per {side} square"),
  margin: message("Margin (±) of {noun} per {side} square"),
};

/** Somebody counts once in a cell, and may count in each of several. */
function nounOf(nouns: Nouns, cells: number): string {
  return t(cells > 1 ? nouns.sum : nouns.one);
}

/** The name of the map's unit: counts of squares, or counts per square where cells have other sizes. */
export function legendTitle(show: Show, nouns: Nouns, square: Square, { slice, title, boxes }: BoxLayer): string {
  const asCounted = show === "estimate" && square.cells === 1 && !boxes;
  const name = asCounted ? message("{noun} in a {side} square") : TITLES[show];
  return capital(t(name, { noun: nounOf(nouns, square.cells), side: square.side })) + (slice ? `, ${t(title)}` : "");
}

/** The margins of the counts that are coloured, in a sentence. */
export function marginSentence(layer: BoxLayer, margins: readonly number[], nouns: Nouns, square: Square): string {
  const single = square.cells === 1 && !layer.boxes;
  const values = {
    range: plainRange(margins.length ? margins : layer.noise.map(({ margin }) => margin)),
    counting: t(single ? nouns.one : nouns.sum),
    how: provenance(layer.noise[0]!.label),
  };
  return single
    ? t("Every figure is give or take {range} {counting}{how}.", values)
    : t("Every count of a square or box is give or take {range} {counting}{how}.", values);
}

/** How a margin was computed, where it is not exact; the labels are those of `postprocess.layers`. */
function provenance(label: string): string {
  if (label === "nominal") return t(", by a formula");
  if (label === "calibrated") return t(", as measured on invented maps");
  return label === "noise only" ? t(", for the noise alone") : "";
}

export type Spoken = { figure: string; margin: string; note: string };

/**
 * The figure of a cell or box in the unit of the map, and what was counted in it. `cell` is the side
 * of a cell of the grid in metres.
 */
export function speak(reading: Reading, layer: BoxLayer, nouns: Nouns, square: Square, cell: number): Spoken {
  const { value, noise, standsOut } = reading;
  const place = placeWords(reading, square, cell) + (layer.kind === "inferred" ? t(", estimated") : "") +
    (layer.slice ? `, ${t(layer.title)}` : "");
  const noun = nounOf(nouns, reading.cells);
  const counted = { count: formatNumber(value), margin: formatMargin(noise.margin), noun, place };
  if (!standsOut) {
    const note = value < 0
      ? t("{count} {margin} {noun} {place}; noise can push a count below zero", counted)
      : t("{count} {margin} {noun} {place}", counted);
    return { figure: t("Too few to tell from none"), margin: "", note };
  }
  if (reading.cells === square.cells) {
    return { figure: counted.count, margin: `${counted.margin} ${noun}`, note: place };
  }
  const each = formatNumber((value / reading.cells) * square.cells);
  return {
    figure: t("About {count}", { count: each }),
    margin: t("{noun} per {side} square", { noun: nounOf(nouns, square.cells), side: square.side }),
    note: t("{count} {margin} {noun} {place}", counted),
  };
}

/** Where a count was made: in a square of the map's unit, in another square, or in a box. */
function placeWords({ box, cells }: Reading, square: Square, cell: number): string {
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  const side = cells === square.cells ? square.side : formatMetres(width * cell);
  if (width === height) return t("in this {side} square", { side });
  return t("in this box, {width} by {height}", { width: formatMetres(width * cell), height: formatMetres(height * cell) });
}
