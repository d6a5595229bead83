/** The circles of counted places. */
import { type PointLayer, positionOf, type ReleaseArray } from "../../data/release-array";
import type { Degrees } from "../../geometry/mercator";

/** Radius in pixels of the circle of the largest count. */
const LARGEST = 24;

/** A place as it is drawn; `best` and `worst` are the ranks that it may have, 0 where unknown. */
export type Counted = {
  index: number;
  name: string;
  middle: Degrees;
  value: number;
  margin: number;
  threshold: number;
  best: number;
  worst: number;
};

export function placesOf(layer: PointLayer): Counted[] {
  return Array.from({ length: layer.positions.length / 2 }, (_, index) => ({
    index,
    name: layer.names?.[index] ?? "",
    middle: positionOf(layer, index),
    value: (layer.stored?.[index] ?? 0) * layer.step,
    margin: layer.margins?.[index] ?? 0,
    threshold: layer.thresholds?.[index] ?? 0,
    best: layer.ranks?.[0][index] ?? 0,
    worst: layer.ranks?.[1][index] ?? 0,
  }));
}

export function standsOut({ value, threshold }: Counted): boolean {
  return value >= Math.max(threshold, 1);
}

/** Of so many busiest places, at most half of all, the page tells which are surely among them (pages/place_rows.py). */
export function busiestOf(places: number): number {
  return [20, 10, 5, 3].find((count) => 2 * count <= places) ?? 1;
}

/** Whether a place that stands out may be among the `count` busiest, and may not. */
export function isPerhaps(place: Counted, count: number): boolean {
  return standsOut(place) && place.best > 0 && place.best <= count && place.worst > count;
}

/** The count with the largest circle: one for all contexts, so that circles say the same in each. */
export function largestOf(layer: PointLayer, release: ReleaseArray): number {
  const alike = release.layers.filter((each) => each.shape === "points" && each.ranks && (each === layer || (contextual(each) && contextual(layer))));
  return Math.max(1, ...alike.map((each) => most(each as PointLayer)));
}

/** The layer of all places together is called "places", those of contexts "places-…". */
function contextual({ name }: { name: string }): boolean {
  return name.includes("-");
}

function most({ stored, step }: PointLayer): number {
  let largest = 0;
  for (const each of stored ?? []) largest = Math.max(largest, each);
  return step * largest;
}

/** The radius of a count's circle, whose area is proportional to the count. */
export function radiusOf(count: number, largest: number): number {
  return LARGEST * Math.sqrt(Math.max(count, 0) / largest);
}

/** Round counts whose circles stand in the legend, largest first: about all, a half and an eighth of the largest. */
export function exampleCounts(largest: number): number[] {
  const round = [1, 0.4, 0.1].map((share) => roundDown(share * largest));
  return [...new Set(round)].filter((count) => count >= 1);
}

function roundDown(count: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(count, 1)));
  return [5, 2, 1].find((digit) => digit * magnitude <= count)! * magnitude || 0;
}
