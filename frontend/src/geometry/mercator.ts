/** Web Mercator, the plane in which grids are equispaced. */

const RADIUS = 6_378_137;
const DEGREES = 180 / Math.PI;

/** Mean radius of the earth in metres, for lengths on the ground. */
export const EARTH_RADIUS = 6_371_008.8;

/** Width of the whole plane in Mercator metres. */
export const WORLD = 2 * Math.PI * RADIUS;

export type Degrees = { longitude: number; latitude: number };

export function toMercator({ longitude, latitude }: Degrees): { x: number; y: number } {
  const y = Math.asinh(Math.tan(latitude / DEGREES));
  return { x: (RADIUS * longitude) / DEGREES, y: RADIUS * y };
}

export function toDegrees(x: number, y: number): Degrees {
  return { longitude: (x / RADIUS) * DEGREES, latitude: Math.atan(Math.sinh(y / RADIUS)) * DEGREES };
}

/** Metres on the ground between two positions close to each other. */
export function distanceNearby(from: Degrees, to: Degrees): number {
  const [here, there] = [toMercator(from), toMercator(to)];
  return Math.hypot(there.x - here.x, there.y - here.y) * Math.cos(from.latitude / DEGREES);
}

/** Metres on the ground that one Mercator metre covers at a latitude. */
export function groundScale(latitude: number): number {
  return (Math.cos(latitude / DEGREES) * EARTH_RADIUS) / RADIUS;
}
