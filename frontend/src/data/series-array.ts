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
  /** All its counts added up, and the margin of that where it differs from period to period. */
  total: number;
  margin?: number;
};

type Stored = Int8Array | Int16Array | Int32Array;

/**
 * Of counts that are listed from `least` on: a count at least `reach` above that is within `reach`,
 * another within the larger of itself and the margin. The two others fail half as often, so that
 * two such margins added up are one of a change (dpgeo/postprocess/compared.py).
 */
export type Listed = { least: number; reach: number; changeReach: number; changeMargin: number };

/** Counts of the same regions in all periods. */
export type Table = {
  /** How many counts a period has: one for each cell, zone, place or pair of regions. */
  regions: number;
  /** The counts of the periods, one after another; 0 where one is not listed. */
  counts: Stored;
  /** Smoothed counts are `smoothStep * smoothed`; 0 where they cannot be told from none. Null of lists. */
  smoothed: Stored | null;
  smoothStep: number;
  /** Half-widths of the 95 % intervals of a count and of a change, where all counts are known. */
  margin: number;
  changeMargin: number;
  threshold: number;
  /** The largest change that noise may make in any region where none changed. */
  byNoise: number;
  /** Null where all counts are known. */
  listed: Listed | null;
};

/** Pairs of regions, in a table of their flows. */
export type Pairs = Table & { origin: Int32Array; destination: Int32Array };

export type Series = Table & {
  periods: Period[];
  /** Half-widths of the intervals of a total and of its changes; null of lists. */
  totalMargin: number | null;
  totalChangeMargin: number | null;
  /** Of flows, whose main table has the arrivals. */
  departures: Table | null;
  pairs: Pairs | null;
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

type RawTable = {
  regions: number;
  counts: Reference;
  smoothed: Reference | null;
  smooth_step: number;
  margin: number;
  threshold: number;
  change_margin: number;
  by_noise: number;
  listed: { least: number; reach: number; change_reach: number; change_margin: number } | null;
};

type Raw = RawTable & {
  periods: Period[];
  total_margin?: number;
  total_change_margin?: number;
  departures?: RawTable;
  pairs?: RawTable & { origin: Reference; destination: Reference };
};

export function decodeSeriesArray(file: ArrayBuffer): { release: ReleaseArray; series: Series } {
  const release = decodeReleaseArray(file);
  const { header, data } = readHeader(file);
  const raw = (header as unknown as { series?: Raw }).series;
  if (!raw?.periods?.length) throw new UnreadableArray(t("The maps' data cannot be read. Use the files."));
  const table = (given: RawTable): Table => {
    const length = raw.periods.length * given.regions;
    const read = (reference: Reference): Stored => readArray(file, data, reference, length) as Stored;
    const { listed } = given;
    return {
      regions: given.regions,
      counts: read(given.counts),
      smoothed: given.smoothed && read(given.smoothed),
      smoothStep: given.smooth_step,
      margin: given.margin,
      threshold: given.threshold,
      changeMargin: given.change_margin,
      byNoise: given.by_noise,
      listed: listed && { least: listed.least, reach: listed.reach, changeReach: listed.change_reach, changeMargin: listed.change_margin },
    };
  };
  const { pairs } = raw;
  const end = (reference: Reference): Int32Array => readArray(file, data, reference, pairs!.regions) as Int32Array;
  return {
    release,
    series: {
      ...table(raw),
      periods: raw.periods,
      totalMargin: raw.total_margin ?? null,
      totalChangeMargin: raw.total_change_margin ?? null,
      departures: raw.departures ? table(raw.departures) : null,
      pairs: pairs ? { ...table(pairs), origin: end(pairs.origin), destination: end(pairs.destination) } : null,
    },
  };
}

/** The counts of a period. */
export function countsOf({ counts, regions }: Table, at: number): Stored {
  return counts.subarray(at * regions, (at + 1) * regions);
}

export function smoothedOf({ smoothed, regions }: Table, at: number): Stored {
  return smoothed!.subarray(at * regions, (at + 1) * regions);
}

/**
 * By how much each count of a period differs from that of another. Where it is listed in one of
 * them only, this is the least that it can be.
 */
export function changesOf(table: Table, at: number, before: number): Int32Array {
  const [now, then] = [countsOf(table, at), countsOf(table, before)];
  const most = table.listed ? table.listed.least - 1 : 0;
  return Int32Array.from(now, (count, region) => {
    const other = then[region]!;
    if (!table.listed || (count && other)) return count - other;
    return Math.max(0, count - most) - Math.max(0, other - most);
  });
}

/** The half-width of a count's interval. */
export function marginOf({ listed, margin }: Table, count: number): number {
  if (!listed) return margin;
  return count - listed.least >= listed.reach ? listed.reach : Math.max(count, margin);
}

/** The half-width of a change's interval; null where it is listed in one of both periods only. */
export function changeMarginOf(table: Table, at: number, before: number, region: number): number | null {
  const { listed } = table;
  if (!listed) return table.changeMargin;
  const [one, other] = [at, before].map((period) => countsOf(table, period)[region]!) as [number, number];
  if (!one || !other) return null;
  const half = (count: number): number =>
    count - listed.least >= listed.changeReach ? listed.changeReach : Math.max(count, listed.changeMargin);
  return half(one) + half(other);
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
