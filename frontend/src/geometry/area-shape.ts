/** Areas that readers draw, type or load from a file. Errors hold messages for readers. */
import type { GeoJSON, MultiPolygon, Polygon, Position } from "geojson";
import { t } from "../ui/translate";
import type { Bounds } from "./place";

export type AreaShape = Polygon | MultiPolygon;

/** Corners in degrees, longitude first; the last is not repeated. */
export type Corners = [longitude: number, latitude: number][];

/** What an area is for: to count in, or to say where trips begin or end. */
export const ENDS = ["area", "from", "to"] as const;
export type End = (typeof ENDS)[number];
export type Ends<Shape> = Readonly<Partial<Record<End, Shape>>>;

/** Larger files are refused before they are read. */
export const MOST_BYTES = 2_000_000;

/** Most corners that a link holds: more do not fit an address, and nobody draws them by hand. */
export const MOST_CORNERS = 100;

/** A hundred-thousandth of a degree is about a metre. */
const CORNER_DIGITS = 5;

export function roundCorners(corners: Corners): Corners {
  const round = (degrees: number): number => Number(degrees.toFixed(CORNER_DIGITS));
  return corners.map(([longitude, latitude]) => [round(longitude), round(latitude)]);
}

/** The polygon of at least three corners, closed and counterclockwise. */

export function fromCorners(corners: Corners): Polygon {
  const ring = signedArea(corners) < 0 ? [...corners].reverse() : corners;
  return { type: "Polygon", coordinates: [[...ring, ring[0]!]] };
}

export function fromBounds([west, south, east, north]: Bounds): Polygon {
  return fromCorners([[west, south], [east, south], [east, north], [west, north]]);
}

/** Box between two corners, in whichever order they were drawn. */
export function fromOpposite([x, y]: Corners[number], [toX, toY]: Corners[number]): Polygon {
  return fromBounds([Math.min(x, toX), Math.min(y, toY), Math.max(x, toX), Math.max(y, toY)]);
}

/** Reads the four sides that a reader typed. Throws an Error that says what to fix. */
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

/** The polygons of a GeoJSON text as one shape. Throws an Error that says what to fix. */
export function readGeojson(text: string): AreaShape {
  let data: GeoJSON;
  try {
    data = JSON.parse(text) as GeoJSON;
  } catch {
    throw new Error(t("This file is not GeoJSON: it cannot be read as JSON."));
  }
  const polygons = polygonsOf(data);
  if (polygons.length === 0) throw new Error(t("This file contains no polygon."));
  if (!polygons.every((rings) => rings.every(isRing))) {
    throw new Error(t("A polygon of this file has a corner that is not a longitude and a latitude in degrees."));
  }
  return polygons.length === 1
    ? { type: "Polygon", coordinates: polygons[0]! }
    : { type: "MultiPolygon", coordinates: polygons };
}

/** The corners as a link holds them; null of areas with holes, several parts or too many corners. */
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
