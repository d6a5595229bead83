/** Shapes in degrees: containment, centres, bounds, and walking between places by arrow keys. */
import type { Geometry, MultiPolygon, Polygon, Position } from "geojson";
import { type Degrees, toMercator } from "./mercator";
import type { Bounds } from "./place";

/** Steps on the screen that an arrow key takes: down and to the right. */
export type Arrow = readonly [down: number, right: number];

/** Whether a polygon holds a position; lines and points hold none. */
export function contains(geometry: Geometry, { longitude, latitude }: Degrees): boolean {
  return polygons(geometry).some((rings) => {
    let inside = false;
    for (const ring of rings) if (crosses(ring, longitude, latitude)) inside = !inside;
    return inside;
  });
}

/** The middle of a shape's bounding box, or of that of its largest part. */
export function centreOf(geometry: Geometry): Degrees {
  const parts = partsOf(geometry).map(boundsOf);
  const area = ([west, south, east, north]: Bounds) => (east - west) * (north - south);
  const [west, south, east, north] = parts.reduce((a, b) => (area(b) > area(a) ? b : a));
  return { longitude: (west + east) / 2, latitude: (south + north) / 2 };
}

/**
 * The nearest place in the direction of an arrow key, or of all places without one. Sideways
 * distance counts double, so that walking keeps its direction.
 */
export function nearestInDirection<T extends { middle: Degrees }>(
  places: readonly T[],
  from: Degrees,
  arrow: Arrow | null,
): T | undefined {
  const start = toMercator(from);
  let nearest: T | undefined;
  let least = Infinity;
  for (const place of places) {
    const end = toMercator(place.middle);
    const [right, up] = [end.x - start.x, end.y - start.y];
    let distance = Math.hypot(right, up);
    if (arrow) {
      const [down, across] = arrow;
      const along = across * right - down * up;
      const aside = Math.abs(down ? right : up);
      if (along <= 0 || aside > 3 * along) continue;
      distance = along + 2 * aside;
    }
    if (distance < least) [nearest, least] = [place, distance];
  }
  return nearest;
}

/**
 * The place that arrow keys lead to: the nearest of all to `near` at first, then `times` steps in a
 * direction. Where nothing lies further on, it stays.
 */
export function walk<T extends { middle: Degrees }>(
  places: readonly T[],
  from: T | null | undefined,
  arrow: Arrow,
  times: number,
  near: Degrees,
): T | undefined {
  if (!from) return nearestInDirection(places, near, null);
  let place = from;
  for (let step = 0; step < times; step++) place = nearestInDirection(places, place.middle, arrow) ?? place;
  return place;
}

function polygons(geometry: Geometry): Position[][][] {
  if (geometry.type === "Polygon") return [geometry.coordinates];
  if (geometry.type === "MultiPolygon") return geometry.coordinates;
  return geometry.type === "GeometryCollection" ? geometry.geometries.flatMap(polygons) : [];
}

function crosses(ring: Position[], longitude: number, latitude: number): boolean {
  let inside = false;
  for (let at = 0, before = ring.length - 1; at < ring.length; before = at++) {
    const [x1, y1] = ring[at] as [number, number];
    const [x2, y2] = ring[before] as [number, number];
    const passes = y1 > latitude !== y2 > latitude;
    if (passes && longitude < ((x2 - x1) * (latitude - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}

/** The positions of each part. Outer rings suffice, for holes reach no further. */
function partsOf(geometry: Geometry): Position[][] {
  switch (geometry.type) {
    case "Point":
      return [[geometry.coordinates]];
    case "MultiPoint":
    case "LineString":
      return [geometry.coordinates];
    case "MultiLineString":
    case "Polygon":
      return geometry.coordinates.slice(0, 1);
    case "MultiPolygon":
      return geometry.coordinates.map((rings) => rings[0]!);
    case "GeometryCollection":
      return geometry.geometries.flatMap(partsOf);
  }
}

/** West, south, east and north of a study area or another polygon. */
export function boundsOfArea(area: Polygon | MultiPolygon): Bounds {
  const polygons = area.type === "Polygon" ? [area.coordinates] : area.coordinates;
  return boundsOf(polygons.flat(2));
}

function boundsOf(positions: Position[]): Bounds {
  return positions.reduce<Bounds>(
    ([west, south, east, north], [x, y]) => [
      Math.min(west, x!),
      Math.min(south, y!),
      Math.max(east, x!),
      Math.max(north, y!),
    ],
    [Infinity, Infinity, -Infinity, -Infinity],
  );
}
