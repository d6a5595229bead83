/** Circles on the ground as rings in degrees, small against the earth. */
import type { Position } from "geojson";
import { type Degrees, EARTH_RADIUS } from "./mercator";

/** Degrees of latitude that a length in metres spans. */
export function degreesOf(metres: number): number {
  return (metres / EARTH_RADIUS) * (180 / Math.PI);
}

/** A closed ring of `corners` corners at a distance in metres around a position. */
export function circleAround({ longitude, latitude }: Degrees, metres: number, corners: number): Position[] {
  const up = degreesOf(metres);
  const across = up / Math.cos((latitude * Math.PI) / 180);
  return Array.from({ length: corners + 1 }, (_, index) => {
    const angle = (2 * Math.PI * (index % corners)) / corners;
    return [longitude + across * Math.cos(angle), latitude + up * Math.sin(angle)];
  });
}
