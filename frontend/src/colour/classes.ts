/** Classes of values for the colour ramp, computed from released values alone. */

export const STEPS = 7;

/** Ways to divide the range of values into classes. */
export const SCALES = ["log", "linear", "quantile"] as const;
export type Scale = (typeof SCALES)[number];

const NICE = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/**
 * Lower edges of at most `STEPS` classes, rising; the first is the least value.
 *
 * Edges stand a constant factor ("log": counts of places span magnitudes) or a constant amount
 * ("linear") apart up to the 99.5th percentile, so that one crowded cell does not flatten the rest,
 * or hold as many values each ("quantile"). They are rounded to be easy to read.
 */
export function classEdges(
  values: readonly number[] | Float64Array,
  whole: boolean,
  scale: Scale = "log",
): number[] {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return [];
  const edges = [sorted[0]!];
  const last = sorted.at(-1)!;
  for (let step = 1; step < STEPS; step++) {
    const edge = edgeOf(sorted, step, whole, scale);
    if (edge > edges.at(-1)! && edge <= last) edges.push(edge);
  }
  return edges;
}

function edgeOf(sorted: Float64Array, step: number, whole: boolean, scale: Scale): number {
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  if (scale === "quantile") return readable(at(step / STEPS), whole);
  const low = Math.max(sorted[0]!, whole ? 1 : Number.MIN_VALUE);
  const high = Math.max(low, at(0.995));
  const share = step / (STEPS - 0.5);
  if (scale === "linear") return readable(low + (high - low) * share, whole);
  return nice(low * (high / low) ** share, whole);
}

/** The index of a value's class: of the last edge that it reaches. */
export function classOf(value: number, edges: readonly number[]): number {
  let index = 0;
  while (index + 1 < edges.length && value >= edges[index + 1]!) index++;
  return index;
}

/** The ramp step of a class; fewer classes than steps are spread over the whole ramp. */
export function rampStep(index: number, classes: number): number {
  if (classes <= 1) return Math.floor(STEPS / 2);
  return Math.round((index * (STEPS - 1)) / (classes - 1));
}

export function rampSteps(classes: number): number[] {
  return Array.from({ length: classes }, (_, index) => rampStep(index, classes));
}

function nice(value: number, whole: boolean): number {
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const scaled = value / magnitude;
  const best = NICE.reduce((a, b) => (Math.abs(b - scaled) < Math.abs(a - scaled) ? b : a));
  const rounded = Number((best * magnitude).toPrecision(2));
  return whole ? Math.round(rounded) : rounded;
}

/** Rounds the edge of evenly spaced or evenly filled classes to two digits. */
function readable(value: number, whole: boolean): number {
  const rounded = Number(value.toPrecision(2));
  return whole ? Math.round(rounded) : rounded;
}
