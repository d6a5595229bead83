/** The array of a series: that of its newest map, with the counts of all periods beside it. */
import { fetchBasemap } from "./basemap";
import { fetchFile } from "./fetching";
import { type OpenRelease, withoutOutlines } from "./open-release";
import { decodeReleaseArray, readArray, readHeader, type Reference, type ReleaseArray, UnreadableArray } from "./release-array";
import { t } from "../ui/translate";

export type Period = {
  /** Counted from 1; where a map is not published, its number is left out. */
  number: number;
  /** The first and the last day, such as "2026-01-05". */
  from: string;
  to: string;
  /** The id of its release. */
  release: string;
  /** All its counts added up. */
  total: number;
};

type Stored = Int8Array | Int16Array | Int32Array;

export type Series = {
  periods: Period[];
  /** How many counts a period has: one for each cell of the grid, or for each zone. */
  regions: number;
  /** The counts of the periods, one after another. */
  counts: Stored;
  /** Smoothed counts are `smoothStep * smoothed`; 0 where they cannot be told from none. */
  smoothed: Stored;
  smoothStep: number;
  /** Half-widths of the 95 % intervals of a count, of a total, and of their changes. */
  margin: number;
  totalMargin: number;
  changeMargin: number;
  totalChangeMargin: number;
  threshold: number;
  /** The largest change that noise may make in any region where none changed. */
  byNoise: number;
};

export type OpenSeries = OpenRelease & { series: Series };

/** Loads a series; `files` is the address of the newest map's files, up to their names. */
export async function openSeries(array: string, basemap: string, files: string): Promise<OpenSeries> {
  const [file, ground] = await Promise.all([
    fetchFile(array, (status) => t("The maps' data did not load ({status}). Reload the page to try again.", { status })).then(
      (response) => response.arrayBuffer(),
    ),
    fetchBasemap(basemap).catch(() => withoutOutlines()),
  ]);
  const { release, series } = decodeSeriesArray(file);
  const { bounds, area, counting, nouns } = release;
  const urlOf = (name: string): string => files + encodeURIComponent(name);
  return { release, series, scene: { bounds, area, counting, nouns, basemap: ground, urlOf } };
}

type Raw = {
  periods: Period[];
  regions: number;
  counts: Reference;
  smoothed: Reference;
  smooth_step: number;
  margin: number;
  threshold: number;
  total_margin: number;
  change_margin: number;
  total_change_margin: number;
  by_noise: number;
};

export function decodeSeriesArray(file: ArrayBuffer): { release: ReleaseArray; series: Series } {
  const release = decodeReleaseArray(file);
  const { header, data } = readHeader(file);
  const raw = (header as unknown as { series?: Raw }).series;
  if (!raw?.periods?.length) throw new UnreadableArray(t("The maps' data cannot be read. Use the files."));
  const length = raw.periods.length * raw.regions;
  const read = (reference: Reference): Stored => readArray(file, data, reference, length) as Stored;
  return {
    release,
    series: {
      periods: raw.periods,
      regions: raw.regions,
      counts: read(raw.counts),
      smoothed: read(raw.smoothed),
      smoothStep: raw.smooth_step,
      margin: raw.margin,
      threshold: raw.threshold,
      totalMargin: raw.total_margin,
      changeMargin: raw.change_margin,
      totalChangeMargin: raw.total_change_margin,
      byNoise: raw.by_noise,
    },
  };
}

/** The counts of a period. */
export function countsOf({ counts, regions }: Series, at: number): Stored {
  return counts.subarray(at * regions, (at + 1) * regions);
}

export function smoothedOf({ smoothed, regions }: Series, at: number): Stored {
  return smoothed.subarray(at * regions, (at + 1) * regions);
}

/** By how much each count of a period differs from that of another. */
export function changesOf(series: Series, at: number, before: number): Int32Array {
  const [now, then] = [countsOf(series, at), countsOf(series, before)];
  return Int32Array.from(now, (count, region) => count - then[region]!);
}

/** The period as many periods before; -1 where its map is not there. */
export function periodBefore({ periods }: Series, at: number, back: number): number {
  return periods.findIndex(({ number }) => number === periods[at]!.number - back);
}

/** The period that begins a year before, or within as many days of that as half a period has; -1 without. */
export function yearBefore({ periods }: Series, at: number): number {
  const { from, to } = periods[at]!;
  const half = (Date.parse(to) - Date.parse(from) + DAY) / 2;
  const wanted = Date.parse(from) - YEAR;
  return periods.findIndex((each) => Math.abs(Date.parse(each.from) - wanted) <= half);
}

const DAY = 86_400_000;

/** 52 weeks, so that a week is compared with one that begins on the same day of the week. */
const YEAR = 364 * DAY;
