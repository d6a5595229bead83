/** Areas that readers draw, type or bring in a file. Errors are for them to read. */
import type { GeoJSON, MultiPolygon, Polygon, Position } from "geojson";
import type { Bounds } from "../layers/map-layer";
import { type Corners, MOST_CORNERS, roundCorners } from "../release/permalink";
import { t } from "../ui/translate";

export type AreaShape = Polygon | MultiPolygon;

export const MOST_BYTES = 2_000_000;

export function fromCorners(corners: Corners): Polygon {
  const ring = signedArea(corners) < 0 ? [...corners].reverse() : corners;
  return { type: "Polygon", coordinates: [[...ring, ring[0]!]] };
}

export function fromBounds([west, south, east, north]: Bounds): Polygon {
  return fromCorners([[west, south], [east, south], [east, north], [west, north]]);
}

/** Reads the four sides a reader typed. Raises an Error that says what to mend. */
export function readBounds(texts: readonly string[]): Bounds {
  const sides = texts.map((text) => (text.trim() === "" ? NaN : Number(text.trim().replace(",", ".").replace("\u2212", "-"))));
  if (sides.some((side) => !Number.isFinite(side))) {
    throw new Error(t("Each side must be a number of degrees, such as 12.58."));
  }
  const [west, south, east, north] = sides as Bounds;
  if (Math.abs(west) > 180 || Math.abs(east) > 180 || Math.abs(south) > 90 || Math.abs(north) > 90) {
    throw new Error(t("Longitudes lie between -180 and 180, latitudes between -90 and 90."));
  }
  if (west >= east) throw new Error(t("West must be less than east."));
  if (south >= north) throw new Error(t("South must be less than north."));
  return [west, south, east, north];
}

/** The polygons of a GeoJSON text as one shape. Raises an Error that says what to mend. */
export function readGeojson(text: string): AreaShape {
  let data: GeoJSON;
  try {
    data = JSON.parse(text) as GeoJSON;
  } catch {
    throw new Error(t("This file is not GeoJSON: it cannot be read as JSON."));
  }
  const polygons = polygonsOf(data);
  if (polygons.length === 0) throw new Error(t("This file holds no polygon."));
  if (!polygons.every((rings) => rings.every(isRing))) {
    throw new Error(t("A polygon of this file has a corner that is not a longitude and a latitude in degrees."));
  }
  return polygons.length === 1
    ? { type: "Polygon", coordinates: polygons[0]! }
    : { type: "MultiPolygon", coordinates: polygons };
}

/** The corners that a link can hold; null of areas with holes, parts or too many corners. */
export function linkCorners(shape: AreaShape): Corners | null {
  if (shape.type !== "Polygon" || shape.coordinates.length !== 1) return null;
  const corners = shape.coordinates[0]!.slice(0, -1).map(([x, y]) => [x, y]) as Corners;
  return corners.length <= MOST_CORNERS ? roundCorners(corners) : null;
}

function polygonsOf(data: GeoJSON | null): Position[][][] {
  switch (data?.type) {
    case "Polygon":
      return [data.coordinates];
    case "MultiPolygon":
      return data.coordinates;
    case "Feature":
      return polygonsOf(data.geometry);
    case "FeatureCollection":
      return (data.features ?? []).flatMap(polygonsOf);
    case "GeometryCollection":
      return (data.geometries ?? []).flatMap(polygonsOf);
    default:
      return [];
  }
}

function isRing(ring: Position[]): boolean {
  return (
    Array.isArray(ring) &&
    ring.length >= 4 &&
    ring.every(([x, y]) => Math.abs(x!) <= 180 && Math.abs(y!) <= 90)
  );
}

function signedArea(corners: Corners): number {
  return corners.reduce((sum, [x, y], index) => {
    const [nextX, nextY] = corners[(index + 1) % corners.length]!;
    return sum + x * nextY - nextX * y;
  }, 0);
}
