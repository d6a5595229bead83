/** Web Mercator, the plane in which grids are equispaced. */
import type { Grid } from "../data/release-array";

const RADIUS = 6378137;
const EARTH_RADIUS = 6371008.8;
const DEGREES = 180 / Math.PI;

export type Degrees = { longitude: number; latitude: number };

export function toMercator({ longitude, latitude }: Degrees): { x: number; y: number } {
  const y = Math.asinh(Math.tan(latitude / DEGREES));
  return { x: (RADIUS * longitude) / DEGREES, y: RADIUS * y };
}

export function toDegrees(x: number, y: number): Degrees {
  return { longitude: (x / RADIUS) * DEGREES, latitude: Math.atan(Math.sinh(y / RADIUS)) * DEGREES };
}

/** Side of a cell in metres on the ground, at the middle of the grid. */
export function groundCell(grid: Grid): number {
  const north = toDegrees(0, grid.north).latitude;
  const south = toDegrees(0, grid.north - grid.rows * grid.cell).latitude;
  return (grid.cell * Math.cos((north + south) / 2 / DEGREES) * EARTH_RADIUS) / RADIUS;
}
