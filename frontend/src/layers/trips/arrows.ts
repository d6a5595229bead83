/** Arrows of a flow field: one in each square, pointing where trips lead from there. */
/** A position in a plane, or a vector. */
export type Point = { x: number; y: number };

/** Length of the longest arrow, as a share of its square's side. */
const LONGEST = 0.9;

/** Width of the shaft and of the head, and length of the head, as shares of the arrow's length. */
const SHAFT = 0.1;
const HEAD = 0.36;
const HEAD_LENGTH = 0.4;

/** The length of an arrow: its area, not its length, grows with the strength. */
export function arrowLength(strength: number, strongest: number, side: number): number {
  return strength > 0 && strongest > 0 ? LONGEST * side * Math.sqrt(strength / strongest) : 0;
}

/**
 * The outline of an arrow around a middle, in a plane whose y grows northwards; `bearing` is in
 * degrees clockwise from the north.
 */
export function arrowOutline(middle: Point, bearing: number, length: number): Point[] {
  const turn = (bearing * Math.PI) / 180;
  const [ux, uy] = [Math.sin(turn), Math.cos(turn)];
  const place = (along: number, aside: number): Point => ({
    x: middle.x + (ux * along + uy * aside) * length,
    y: middle.y + (uy * along - ux * aside) * length,
  });
  const neck = 0.5 - HEAD_LENGTH;
  return [
    place(-0.5, -SHAFT / 2),
    place(neck, -SHAFT / 2),
    place(neck, -HEAD / 2),
    place(0.5, 0),
    place(neck, HEAD / 2),
    place(neck, SHAFT / 2),
    place(-0.5, SHAFT / 2),
  ];
}

/** The names of the eight directions, from the north on clockwise. */
const DIRECTIONS = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"] as const;

export function directionOf(bearing: number): (typeof DIRECTIONS)[number] {
  return DIRECTIONS[Math.round(bearing / 45) % 8]!;
}
