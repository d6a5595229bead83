/** The view of the map on which a study area is drawn, as plain functions of the place it shows. */
import type { AreaShape } from "../geometry/area-shape";
import { WORLD } from "../geometry/mercator";
import { type Bounds, fit, type Pixel, type Place, positionAt } from "../geometry/place";
import { boundsOfArea } from "../geometry/shapes";

/** Shown while nothing is chosen: the inhabited world. */
const INHABITED: Bounds = [-180, -60, 180, 75];
const METRES_PER_DEGREE = 111_195;
/** Mercator metres to a pixel, at the closest. */
const CLOSEST = 2;

/** Land that was fetched: for which view, and how wide that was in degrees. */
export type FetchedLand = { bounds: Bounds; span: number };

/** A view of an area with room around it to draw in. */
export function placeAround(area: AreaShape | null, width: number, height: number): Place {
  const smaller = Math.min(width, height);
  return area ? fit(boundsOfArea(area), width, height, smaller / 4) : fit(INHABITED, width, height, smaller / 40);
}

/** The same middle and scale on a canvas of another size. */
export function resized(place: Place, width: number, height: number): Place {
  const { west, north, perPixel } = place;
  return {
    west: west + ((place.width - width) / 2) * perPixel,
    north: north - ((place.height - height) / 2) * perPixel,
    perPixel,
    width,
    height,
  };
}

/** Zooms by a factor, below 1 towards the ground; the pixel `about` keeps its position. */
export function zoomed(place: Place, factor: number, about: Pixel): Place {
  const { west, north, perPixel, width } = place;
  const next = Math.min(WORLD / width, Math.max(CLOSEST, perPixel * factor));
  return {
    ...place,
    west: west + about.x * (perPixel - next),
    north: north - about.y * (perPixel - next),
    perPixel: next,
  };
}

/** Moves the view by pixels to the right and down. */
export function panned(place: Place, x: number, y: number): Place {
  const { west, north, perPixel } = place;
  return { ...place, west: west + x * perPixel, north: north - y * perPixel };
}

/** What the view shows of the world, in degrees. */
export function visibleBounds(place: Place): Bounds {
  const northWest = positionAt(place, { x: 0, y: 0 });
  const southEast = positionAt(place, { x: place.width, y: place.height });
  return [
    Math.max(-180, northWest.longitude),
    Math.max(-85, southEast.latitude),
    Math.min(180, southEast.longitude),
    Math.min(85, northWest.latitude),
  ];
}

/** Decimals of a degree that a pixel is worth. */
export function decimalsAt({ perPixel }: Place): number {
  return Math.min(5, Math.max(0, Math.ceil(Math.log10(METRES_PER_DEGREE / perPixel))));
}

/** Whether fetched land covers a view, and is fine enough for it. */
export function landSuffices(land: FetchedLand | null, [west, south, east, north]: Bounds): boolean {
  if (!land) return false;
  const [landWest, landSouth, landEast, landNorth] = land.bounds;
  const within = west >= landWest && south >= landSouth && east <= landEast && north <= landNorth;
  return within && east - west > land.span / 4;
}

/** Width and height of an area in kilometres. */
export function sizeOf([west, south, east, north]: Bounds): { width: number; height: number } {
  const perDegree = METRES_PER_DEGREE / 1000;
  const narrowing = Math.cos(((south + north) / 2 / 180) * Math.PI);
  return { width: (east - west) * perDegree * narrowing, height: (north - south) * perDegree };
}
