/**
 * Permalink: the whole view in the address, such as
 * `#map=12.5/55.66/12.58&layer=estimate&show=margin&ramp=ember&scale=linear&opacity=70`.
 */
import { type Scale, SCALES } from "../colour/classes";
import { type RampName, RAMPS } from "../colour/ramps";
import { type Corners, type Ends, ENDS, MOST_CORNERS } from "../geometry/area-shape";
import type { View } from "../geometry/place";
import type { Show } from "../layers/map-layer";

/** What lies under a map: streets and names, or the outline of the land alone. */
export type GroundShown = "streets" | "outline";

export type Link = {
  view: View | null;
  layer: string | null;
  show: Show;
  /** Whether counts are shown as counted, or scaled to a total of all the data. */
  figures: "counted" | "scaled";
  ramp: RampName;
  scale: Scale;
  /** Per cent. */
  opacity: number;
  ground: GroundShown;
  /** The id of the release to compare with, and where the divider stands in per cent. */
  compare: string | null;
  divider: number;
  areas: Ends<Corners>;
};

export const NO_LINK: Link = {
  view: null,
  layer: null,
  show: "estimate",
  figures: "counted",
  ramp: "tide",
  scale: "log",
  opacity: 100,
  ground: "streets",
  compare: null,
  divider: 50,
  areas: {},
};

/** Reads a hash and ignores what makes no sense in it. */
export function parseLink(hash: string): Link {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const get = (name: string): string => parts.get(name) ?? "";
  return {
    view: parseView(get("map")),
    layer: parts.get("layer") || null,
    show: get("show") === "margin" ? "margin" : "estimate",
    figures: get("figures") === "scaled" ? "scaled" : "counted",
    ramp: RAMPS.find((ramp) => ramp === get("ramp")) ?? NO_LINK.ramp,
    scale: SCALES.find((scale) => scale === get("scale")) ?? NO_LINK.scale,
    opacity: parsePercent(get("opacity"), 10, NO_LINK.opacity),
    ground: get("ground") === "outline" ? "outline" : NO_LINK.ground,
    compare: /^[\w-]{1,64}$/.test(get("compare")) ? get("compare") : null,
    divider: parsePercent(get("divider"), 0, NO_LINK.divider),
    areas: parseAreas(get),
  };
}

/** Writes a hash that names only what differs from a page without one. */
export function formatLink(link: Link): string {
  const parts: string[] = [];
  const { view, areas } = link;
  if (view) parts.push(`map=${view.zoom}/${view.latitude}/${view.longitude}`);
  for (const name of ["layer", "show", "figures", "ramp", "scale", "opacity", "ground", "compare", "divider"] as const) {
    const value = link[name];
    if (value !== null && value !== NO_LINK[name]) parts.push(`${name}=${encodeURIComponent(value)}`);
  }
  for (const end of ENDS) {
    const corners = areas[end];
    if (corners) parts.push(`${end}=${formatCorners(corners)}`);
  }
  return parts.length ? `#${parts.join("&")}` : "";
}

function parseView(text: string): View | null {
  const match = /^(-?\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)$/.exec(text);
  if (!match) return null;
  const [zoom, latitude, longitude] = match.slice(1).map(Number) as [number, number, number];
  return zoom >= 0 && zoom <= 24 && isPosition(longitude, latitude)
    ? { zoom, latitude, longitude }
    : null;
}

function parsePercent(text: string, least: number, otherwise: number): number {
  if (!/^\d{1,3}$/.test(text)) return otherwise;
  const value = Number(text);
  return value >= least && value <= 100 ? value : otherwise;
}

function parseAreas(get: (name: string) => string): Ends<Corners> {
  const found = ENDS.map((end) => [end, parseCorners(get(end))] as const);
  return Object.fromEntries(found.filter(([, corners]) => corners));
}

export function formatCorners(corners: Corners): string {
  return corners.map((corner) => corner.join(",")).join(";");
}

export function parseCorners(text: string): Corners | null {
  const corner = "-?\\d+(?:\\.\\d+)?,-?\\d+(?:\\.\\d+)?";
  if (!new RegExp(`^${corner}(?:;${corner})+$`).test(text)) return null;
  const corners = text.split(";").map((pair) => pair.split(",").map(Number)) as Corners;
  const enough = corners.length >= 3 && corners.length <= MOST_CORNERS;
  return enough && corners.every(([x, y]) => isPosition(x, y)) ? corners : null;
}

function isPosition(longitude: number, latitude: number): boolean {
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
}
