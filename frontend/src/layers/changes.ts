/** Changes between two periods: their classes, and what is said of them. */
import { capitalise, formatMargin, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import type { Nouns } from "../data/release-array";
import type { Wording } from "./map-layer";

/** What noise may make of a change, and since when it is. */
export type Noisy = { margin: number; byNoise: number };

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

/** `since` is the other period in words. */
export function changeWording(nouns: Nouns, { margin, byNoise }: Noisy, since: string): Wording {
  const noun = t(nouns.one);
  const least = byNoise + 1;
  return {
    legend: (side) => ({
      title: side
        ? t("More or fewer {noun} in a {side} square than on {since}", { noun, side, since })
        : t("More or fewer {noun} per zone than on {since}", { noun, since }),
      classes: [null, -4, -2, -1, 1, 2, 4].map((times, step) => ({ from: times && times * least, step })),
      keys: [{ swatch: "hatch", words: t("No change that noise could not explain") }],
      note: t(
        "Every change is give or take {margin}. Only changes of at least {least} are coloured: where nothing changed, no place at all would be, in 19 of 20 comparisons.",
        { margin: formatNumber(margin), least: formatNumber(least) },
      ),
    }),
    words: (change, standsOut, place) => ({
      figure: standsOut ? formatChange(change) : t("No change that noise could not explain"),
      margin: standsOut ? `${formatMargin(margin)} ${noun}` : "",
      note: standsOut
        ? [place, since].filter(Boolean).join(", ")
        : `${formatChange(change)} ${formatMargin(margin)} ${place}`.trim(),
    }),
  };
}

/** Counts that were smoothed with those of earlier periods. */
export function smoothWording(nouns: Nouns): Wording {
  const noun = t(nouns.one);
  return {
    legend: (side) => ({
      title: side
        ? capitalise(t("{noun} in a {side} square, smoothed", { noun, side }))
        : capitalise(t("{noun} per zone, smoothed", { noun })),
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
