/** Small geometry on shapes in degrees, for pointing at them and walking between them. */
import type { Geometry, Position } from "geojson";
import type { Arrow } from "../layers/map-layer";
import { type Degrees, toMercator } from "./mercator";

/** Whether a polygon holds a position; lines and points hold none. */
export function contains(geometry: Geometry, { longitude, latitude }: Degrees): boolean {
  return polygons(geometry).some((rings) => {
    let inside = false;
    for (const ring of rings) if (crosses(ring, longitude, latitude)) inside = !inside;
    return inside;
  });
}

/** The middle of a shape's bounding box, or of its largest part's. */
export function centreOf(geometry: Geometry): Degrees {
  const parts = parted(geometry).map(boundsOf);
  const area = ([west, south, east, north]: number[]) => (east! - west!) * (north! - south!);
  const [west, south, east, north] = parts.reduce((a, b) => (area(b) > area(a) ? b : a));
  return { longitude: (west! + east!) / 2, latitude: (south! + north!) / 2 };
}

/**
 * What lies nearest in the direction of an arrow key, or nearest of all without one. Sideways
 * distance counts double, so that walking keeps its course.
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

function parted(geometry: Geometry): Position[][] {
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
      return geometry.geometries.flatMap(parted);
  }
}

/** West, south, east and north of positions. */
export function boundsOf(positions: Position[]): number[] {
  return positions.reduce<number[]>(
    ([west, south, east, north], [x, y]) => [
      Math.min(west!, x!),
      Math.min(south!, y!),
      Math.max(east!, x!),
      Math.max(north!, y!),
    ],
    [Infinity, Infinity, -Infinity, -Infinity],
  );
}
