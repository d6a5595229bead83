/** What a reader sees of a series, as the address holds it. */

/** The period itself, what changed since the one before or since a year before, or two side by side. */
export const SHOWS = ["period", "change", "year", "beside"] as const;
export type Shows = (typeof SHOWS)[number];

export type SeriesLink = {
  shows: Shows;
  /** The first day of the period, and of the one beside it; "" for the newest and the one before. */
  day: string;
  beside: string;
  smooth: boolean;
};

export function parseSeriesLink(hash: string): SeriesLink {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const shows = SHOWS.find((each) => each === given.get("show")) ?? "period";
  return { shows, day: given.get("day") ?? "", beside: given.get("beside") ?? "", smooth: given.has("smoothed") };
}

export function formatSeriesLink({ shows, day, beside, smooth }: SeriesLink): string {
  const parts = new URLSearchParams();
  if (day) parts.set("day", day);
  if (shows !== "period") parts.set("show", shows);
  if (shows === "beside" && beside) parts.set("beside", beside);
  if (smooth) parts.set("smoothed", "");
  const text = parts.toString().replace(/=(?=&|$)/g, "");
  return text && `#${text}`;
}
