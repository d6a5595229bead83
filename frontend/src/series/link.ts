/** What a reader sees of a series, as the address holds it. */
import type { Corners } from "../geometry/area-shape";
import { formatCorners, parseCorners } from "../release/permalink";

/** The period itself, what changed since the one before or since a year before, or two side by side. */
export const SHOWS = ["period", "change", "year", "beside"] as const;
export type Shows = (typeof SHOWS)[number];

/** What of flows is shown; all others have one kind of counts, which takes the place of the first. */
export const COUNTED = ["arrivals", "departures", "flows"] as const;
export type Counted = (typeof COUNTED)[number];

export type SeriesLink = {
  shows: Shows;
  counted: Counted;
  /** The first day of the period, and of the one beside it; "" for the newest and the one before. */
  day: string;
  beside: string;
  smooth: boolean;
  /** The index of the region that is shown over time; null for none. */
  place: number | null;
  /** The area that was drawn. */
  area: Corners | null;
};

export function parseSeriesLink(hash: string): SeriesLink {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const get = (name: string): string => given.get(name) ?? "";
  return {
    shows: SHOWS.find((each) => each === get("show")) ?? "period",
    counted: COUNTED.find((each) => each === get("of")) ?? "arrivals",
    day: get("day"),
    beside: get("beside"),
    smooth: given.has("smoothed"),
    place: /^\d{1,7}$/.test(get("place")) ? Number(get("place")) : null,
    area: parseCorners(get("area")),
  };
}

export function formatSeriesLink({ shows, counted, day, beside, smooth, place, area }: SeriesLink): string {
  const parts: string[] = [];
  if (day) parts.push(`day=${encodeURIComponent(day)}`);
  if (shows !== "period") parts.push(`show=${shows}`);
  if (counted !== "arrivals") parts.push(`of=${counted}`);
  if (shows === "beside" && beside) parts.push(`beside=${encodeURIComponent(beside)}`);
  if (smooth) parts.push("smoothed");
  if (place !== null) parts.push(`place=${place}`);
  if (area) parts.push(`area=${formatCorners(area)}`);
  return parts.length ? `#${parts.join("&")}` : "";
}
