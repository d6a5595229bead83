/** Tapered arcs of flows: broad where trips begin, thin where they end, bent to the right. */
export type Point = { x: number; y: number };

/** Distance of an arc's middle from the straight line, as a share of the line's length. */
const BEND = 0.16;

/** Width of the thin end, as a share of the broad end's width. */
const TIP = 0.12;

const STEPS = 24;

/**
 * The outline of an arc in a plane whose y grows northwards; `width` is that of the broad end, in the
 * units of the plane. The arcs of both directions differ, because each bends to its own right.
 */
export function arcOutline(from: Point, to: Point, width: number): Point[] {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const control = { x: (from.x + to.x) / 2 + 2 * BEND * dy, y: (from.y + to.y) / 2 - 2 * BEND * dx };
  const left: Point[] = [];
  const right: Point[] = [];
  for (let step = 0; step <= STEPS; step++) {
    const at = step / STEPS;
    const x = between(from.x, control.x, to.x, at);
    const y = between(from.y, control.y, to.y, at);
    const [ux, uy] = [slope(from.x, control.x, to.x, at), slope(from.y, control.y, to.y, at)];
    const half = ((1 - at * (1 - TIP)) * width) / 2 / (Math.hypot(ux, uy) || 1);
    left.push({ x: x - uy * half, y: y + ux * half });
    right.push({ x: x + uy * half, y: y - ux * half });
  }
  return [...left, ...right.reverse()];
}

/** Whether an arc goes north where it begins, and where it ends. */
export function northward(from: Point, to: Point): { begins: boolean; ends: boolean } {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  return { begins: dy / 2 - 2 * BEND * dx > 0, ends: dy / 2 + 2 * BEND * dx > 0 };
}

function between(start: number, control: number, end: number, at: number): number {
  return (1 - at) ** 2 * start + 2 * at * (1 - at) * control + at ** 2 * end;
}

function slope(start: number, control: number, end: number, at: number): number {
  return 2 * (1 - at) * (control - start) + 2 * at * (end - control);
}

/** Widths in pixels of arcs, proportional to their counts. */
export function arcWidth(count: number, largest: number): number {
  return Math.max(THINNEST, (BROADEST * count) / Math.max(largest, 1));
}

const THINNEST = 3;
const BROADEST = 18;
