/** Basemap: public outlines that the server clips to the surroundings of a study area. */
import type { LineString, MultiLineString, MultiPolygon, Polygon } from "geojson";
import type { Bounds } from "../geometry/place";
import { t } from "../ui/translate";

export type Basemap = {
  land: Polygon | MultiPolygon;
  /** The land inside the study area. */
  inside: Polygon | MultiPolygon;
  coast: LineString | MultiLineString;
  /** The map cannot be moved beyond these. */
  bounds: Bounds | null;
  ground: readonly Ground[];
  /** Names of countries, cities and towns, the most important first; missing where a server has none. */
  names?: readonly PlaceName[];
  /** Whom the names are from. */
  names_from?: readonly string[];
};

export type PlaceName = { name: string; kind: "country" | "city" | "town"; at: readonly [longitude: number, latitude: number] };

/** Vector tiles of a region. */
export type Ground = {
  /** The address of a tile, with {z}, {x} and {y}: a path of this site, or all of it for another server. */
  tiles: string;
  bounds: Bounds;
  /** Whom it is from. */
  attribution: string;
  /** The lowest and the highest zoom. */
  zooms: readonly [number, number];
};

/** Whether tiles are loaded from another server, which the operator named. */
export function isOutside({ tiles }: Pick<Ground, "tiles">): boolean {
  return !tiles.startsWith("/");
}

/** The four waterlines: distance from the coast in CSS pixels, and strength of the colour. */
export const WATERLINES: ReadonlyArray<readonly [number, number]> = [
  [20, 0.28],
  [13.5, 0.45],
  [8, 0.65],
  [3.6, 0.9],
];

export async function fetchBasemap(url: string): Promise<Basemap> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(t("The outlines did not load ({status}).", { status: response.status }));
  return (await response.json()) as Basemap;
}
