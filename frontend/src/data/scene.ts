/** What all layers of a release share when they are drawn. */
import type { MultiPolygon, Polygon } from "geojson";
import type { Bounds } from "../geometry/place";
import type { Basemap } from "./basemap";
import type { Nouns, ReleaseArray } from "./release-array";

/** Study area and basemap under a layer. */
export type Ground = {
  /** Bounds of the study area. */
  bounds: Bounds;
  area: Polygon | MultiPolygon;
  basemap: Basemap;
};

export type Scene = Ground & {
  counting: ReleaseArray["counting"];
  nouns: Nouns;
  /** The address of a file of the release. */
  urlOf: (file: string) => string;
};
