/** Texts of the heatmap: its legend, and the figures of a cell or box. */
import { type BoxLayer, type Nouns, sliceTitle } from "../../data/release-array";
import type { Reading } from "../../data/surface";
import type { Square } from "../../geometry/square";
import { capitalise, formatMargin, formatMetres, formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import type { Show } from "../map-layer";
import { countedRange } from "../uncertainty";

/** Somebody counts once in a cell, and may count in several cells of a larger square. */
function nounOf(nouns: Nouns, { cells }: Square): string {
  return t(cells > 1 ? nouns.sum : nouns.one);
}

/** The name of the map's unit: counts of squares, or counts per square where cells have other sizes. */
export function legendTitle(show: Show, nouns: Nouns, square: Square, layer: BoxLayer): string {
  const values = { noun: nounOf(nouns, square), side: square.side };
  const asCounted = square.cells === 1 && !layer.boxes;
  const unit = asCounted ? t("{noun} in a {side} square", values) : t("{noun} per {side} square", values);
  const name = show === "margin" ? t("Margin of error, {noun} per {side} square", values) : capitalise(unit);
  return name + (layer.slice ? `, ${sliceTitle(layer)}` : "");
}

/** The margins of what is coloured, in a sentence: of boxes as counted, else of the figures per square. */
export function marginSentence(layer: BoxLayer, margins: readonly number[], nouns: Nouns, square: Square): string {
  const counts = margins.length ? margins : layer.noise.map(({ margin }) => margin);
  const how = provenance(layer.noise[0]!.label);
  if (layer.boxes) {
    const values = { ...countedRange(counts, t(nouns.sum)), how };
    // The legend states a density, and a margin beside it would be taken for that of the same square.
    return t("Margins are those of whole squares or boxes as counted, not of a {side} square: each count is give or take {range} {counting}{how}.", { ...values, side: square.side });
  }
  if (layer.kind === "inferred" && square.cells > 1) {
    // Cells of a surface err together with their neighbours or against them: their margins do not add
    // up to one of the map's unit, and one of another unit would be taken for it.
    return t("Smoothed. Press a square to see its margin of error; the data files have all of them.");
  }
  const values = { ...countedRange(counts.map((margin) => margin * square.cells), nounOf(nouns, square)), how, side: square.side };
  return t("The figure of each {side} square is give or take {range} {counting}{how}.", values);
}

/** How a margin was computed, where it is not exact; the labels are those of `postprocess.layers`. */
function provenance(label: string): string {
  if (label === "nominal") return t(", by a formula");
  if (label === "calibrated") return t(", as tested on invented maps");
  // Files of maps that were published earlier may have this label.
  return label === "noise only" ? t(", for the noise alone") : "";
}

export type Spoken = { figure: string; margin: string; note: string };

/**
 * The figure of a cell or box in the unit of the map, and what was counted in it. `cell` is the side
 * of a cell of the grid in metres.
 */
export function speak(reading: Reading, layer: BoxLayer, nouns: Nouns, square: Square, cell: number): Spoken {
  const { value, noise, standsOut } = reading;
  // Somebody may count in several cells of a box, so that its count is another figure than people.
  const added = reading.cells > 1 && nouns.sum !== nouns.one ? `${t(nouns.sum)} ` : "";
  const place = added + placeWords(reading, square, cell) + (layer.kind === "inferred" ? t(", estimated") : "") +
    (layer.slice ? `, ${sliceTitle(layer)}` : "");
  const counted = { count: formatNumber(value), margin: formatMargin(noise.margin), place };
  if (!standsOut) {
    let note = t("{count} {margin} {place}", counted);
    if (value < 0) note = t("{count} {margin} {place}; noise can push a count below zero", counted);
    // Its margin is one square's, while the threshold holds for all squares at once.
    else if (value > noise.margin) note = t("{count} {margin} {place}; among so many squares, noise alone can reach this", counted);
    return { figure: t("Too few to tell from none"), margin: "", note };
  }
  if (reading.cells === square.cells) {
    const noun = added ? "" : ` ${t(nouns.one)}`;
    return { figure: counted.count, margin: counted.margin + noun, note: place };
  }
  const each = formatNumber((value / reading.cells) * square.cells);
  return {
    figure: t("About {count}", { count: each }),
    margin: t("{noun} per {side} square", { noun: nounOf(nouns, square), side: square.side }),
    note: t("{count} {margin} {place}", counted),
  };
}

/** Where a count was made: in a square of the map's unit, in another square, or in a box. */
function placeWords({ box, cells }: Reading, square: Square, cell: number): string {
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  const side = cells === square.cells ? square.side : formatMetres(width * cell);
  if (width === height) return t("in this {side} square", { side });
  return t("in this box, {width} by {height}", { width: formatMetres(width * cell), height: formatMetres(height * cell) });
}
