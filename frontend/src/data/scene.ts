/** What is true of a release whichever of its layers is shown. */
import type { MultiPolygon, Polygon } from "geojson";
import type { Bounds } from "../geometry/place";
import type { Basemap } from "./basemap";
import type { ReleaseArray } from "./release-array";

/** What a map lies on. */
export type Ground = {
  /** Of the study area. */
  bounds: Bounds;
  area: Polygon | MultiPolygon;
  basemap: Basemap;
};

export type Scene = Ground & {
  counting: ReleaseArray["counting"];
  /** The address of a file of the release. */
  urlOf: (file: string) => string;
};
