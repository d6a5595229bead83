/** Changes between two periods: their classes, and what is said of them. */
import { capitalise, formatMargin, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import type { Nouns } from "../data/release-array";
import type { Wording } from "./map-layer";
import { doubtNote } from "./uncertainty";

/** What noise may make of a change; the margin is null where only the least change is known. */
export type Noisy = {
  byNoise: number;
  /** Of every change, or null where they differ. */
  margin: number | null;
  marginOf: (region: number) => number | null;
};

/**
 * Lower edges of the seven classes of changes, for whole numbers; the middle one is never coloured.
 * `least` is the smallest change that noise would not make.
 */
export function changeEdges(least: number): number[] {
  return [-Infinity, -4 * least, -2 * least, 0.5 - least, least, 2 * least, 4 * least];
}

/** A change with its sign. */
export function formatChange(change: number): string {
  return change > 0 ? `+${formatNumber(change)}` : formatNumber(change);
}

/** `since` is the other period in words, and `title` that of a legend other than of squares and zones. */
export function changeWording(nouns: Nouns, { margin, byNoise, marginOf }: Noisy, since: string, title = ""): Wording {
  const noun = t(nouns.one);
  const least = byNoise + 1;
  const values = { margin: formatNumber(margin ?? 0), least: formatNumber(least) };
  return {
    legend: (side) => ({
      title: title || (side
        ? t("More or fewer {noun} in a {side} square than on {since}", { noun, side, since })
        : t("More or fewer {noun} per zone than on {since}", { noun, since })),
      classes: [null, -4, -2, -1, 1, 2, 4].map((times, step) => ({ from: times && times * least, step })),
      keys: [{ swatch: "hatch", words: t("No change that noise could not explain") }],
      note: margin === null
        ? t(
            "Only changes of at least {least} are coloured: where nothing changed, no place at all would be, in 19 of 20 comparisons. Where only one of the two maps lists a count, the change is at least what is written.",
            values,
          )
        : t(
            "Every change is give or take {margin}. Only changes of at least {least} are coloured: where nothing changed, no place at all would be, in 19 of 20 comparisons.",
            values,
          ),
    }),
    words: (change, standsOut, place, region) => {
      const own = marginOf(region);
      const figure = own === null && change ? t("At least {change}", { change: formatChange(change) }) : formatChange(change);
      return {
        figure: standsOut ? figure : t("No change that noise could not explain"),
        margin: standsOut ? `${own === null ? "" : formatMargin(own)} ${noun}`.trim() : "",
        note: standsOut
          ? [place, since].filter(Boolean).join(", ")
          : own === null
            ? place
            : `${formatChange(change)} ${formatMargin(own)} ${place}`.trim(),
      };
    },
  };
}

/** Counts that were smoothed with those of earlier periods. */
export function smoothWording(nouns: Nouns, title = ""): Wording {
  const noun = t(nouns.one);
  return {
    legend: (side) => ({
      title: title || capitalise(side ? t("{noun} in a {side} square, smoothed", { noun, side }) : t("{noun} per zone, smoothed", { noun })),
      note: t(
        "Smoothed with earlier maps by a model of slow change: there is less noise, but sudden changes show late. So there is no margin of error.",
      ),
    }),
    words: (value, standsOut, place) => ({
      figure: standsOut ? t("About {count}", { count: formatNumber(value) }) : t("Too few to tell from none"),
      margin: standsOut ? noun : "",
      note: [place, t("smoothed")].filter(Boolean).join(", "),
    }),
  };
}

/** Departures or arrivals, as they were drawn; `margin` is that of each. */
export function endWording(nouns: Nouns, margin: number, arriving: boolean): Wording {
  const noun = t(nouns.sum);
  return {
    legend: () => ({
      title: arriving ? t("{noun} arriving", { noun: capitalise(noun) }) : t("{noun} leaving", { noun: capitalise(noun) }),
      note: t("Every zone is give or take {range} {counting}.", { range: formatNumber(margin), counting: noun }),
    }),
    words: (value, standsOut) => ({
      figure: formatNumber(value),
      margin: `${formatMargin(margin)} ${noun}`,
      note: doubtNote(value, standsOut),
    }),
  };
}
