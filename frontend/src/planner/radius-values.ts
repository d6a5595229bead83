/** Values of a radius map at any position, read between the points of its lattice. */
import type { RadiusMap } from "../data/api";
import type { Degrees } from "../geometry/mercator";

export type Points = NonNullable<RadiusMap["points"]>;

/** What is known at a position: a radius in metres and the people within it, or why there is none. */
export type RadiusValue = { metres: number; notified: number } | { explanation: string };

type Corner = { row: number; column: number; share: number };

/**
 * The value at a position. Only corners of the same kind count: those with a radius where the
 * position is within reach, else the nearest one with a reason. Null where no corner is of the kind.
 */
export function valueAt(points: Points, position: Degrees, withinReach: boolean): RadiusValue | null {
  const corners = cornersAround(points, position);
  return withinReach ? radiusOf(points, corners) : reasonOf(points, corners);
}

/** The position of the point of the lattice that lies nearest. */
export function nearestPoint({ longitude, latitude }: Points, position: Degrees): { row: number; column: number } {
  return { row: nearest(latitude, position.latitude), column: nearest(longitude, turned(longitude, position.longitude)) };
}

function radiusOf({ radius_metres, notified }: Points, corners: readonly Corner[]): RadiusValue | null {
  const met = corners.filter(({ row, column }) => radius_metres[row]![column] !== null);
  const total = met.reduce((sum, { share }) => sum + share, 0);
  if (total === 0) return null;
  const mean = (rows: Points["notified"]): number =>
    met.reduce((sum, { row, column, share }) => sum + share * rows[row]![column]!, 0) / total;
  return { metres: mean(radius_metres), notified: mean(notified) };
}

function reasonOf({ reason, reasons }: Points, corners: readonly Corner[]): RadiusValue | null {
  const unmet = corners.filter(({ row, column }) => reason[row]![column] !== null);
  if (unmet.length === 0) return null;
  const { row, column } = unmet.reduce((best, each) => (each.share > best.share ? each : best));
  return { explanation: reasons[reason[row]![column]!]!.explanation };
}

/** The four points around a position, with their shares of a bilinear mean. */
function cornersAround({ longitude, latitude }: Points, position: Degrees): Corner[] {
  const [left, across] = placeIn(longitude, turned(longitude, position.longitude));
  const [below, up] = placeIn(latitude, position.latitude);
  return [
    { row: below, column: left, share: (1 - across) * (1 - up) },
    { row: below, column: left + 1, share: across * (1 - up) },
    { row: below + 1, column: left, share: (1 - across) * up },
    { row: below + 1, column: left + 1, share: across * up },
  ];
}

/** A longitude as the lattice counts it, beyond 180 across the antimeridian. */
function turned(longitudes: readonly number[], longitude: number): number {
  return longitudes.at(-1)! > 180 && longitude < longitudes[0]! ? longitude + 360 : longitude;
}

/** The interval of an ascending axis that a value lies in, and how far in it: 0 to 1. */
function placeIn(axis: readonly number[], value: number): [index: number, share: number] {
  let index = 0;
  while (index < axis.length - 2 && axis[index + 1]! <= value) index++;
  const share = (value - axis[index]!) / (axis[index + 1]! - axis[index]!);
  return [index, Math.min(1, Math.max(0, share))];
}

function nearest(axis: readonly number[], value: number): number {
  const [index, share] = placeIn(axis, value);
  return share < 0.5 ? index : index + 1;
}
