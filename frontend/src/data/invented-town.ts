/** Invented town and simulated noise, for the page on privacy and for rehearsals. */

export const COLUMNS = 18;
export const ROWS = 9;
/** The cell of the reader, "you": one with few people. */
export const YOURS = 6 * COLUMNS + 13;

const HOODS = [
  { x: 6, y: 4, wide: 2.2, people: 180 },
  { x: 13, y: 3, wide: 1.4, people: 70 },
  { x: 3, y: 7, wide: 1.1, people: 45 },
];

/** The same neighbourhoods for a square map, in shares of its side. */
export const INVENTED_HOODS = HOODS.map(({ x, y, wide, people }) => ({
  x: (x + 0.5) / COLUMNS,
  y: (y + 0.5) / ROWS,
  wide: wide / COLUMNS,
  people,
}));

/** Invented counts of people in each cell, row by row. */
export function town(): number[] {
  return Array.from({ length: COLUMNS * ROWS }, (_, cell) => {
    const [x, y] = [cell % COLUMNS, Math.floor(cell / COLUMNS)];
    const crowd = HOODS.map((hood) => {
      const away = ((x - hood.x) ** 2 + (y - hood.y) ** 2) / hood.wide ** 2;
      return hood.people * Math.exp(-away / 2);
    });
    return Math.round(crowd.reduce((sum, part) => sum + part, 0));
  });
}

/**
 * Discrete Laplace noise of parameter epsilon: the difference of two geometric variables, each by
 * inversion. It serves for pictures alone: the server draws published noise with an exact sampler.
 */
export function noise(epsilon: number, uniform: () => number): number {
  const geometric = (): number => Math.floor(Math.log(1 - uniform()) / -epsilon);
  return geometric() - geometric();
}

/** Normal noise of a standard deviation, rounded (Box and Muller); it serves for pictures alone, too. */
export function gaussianNoise(deviation: number, uniform: () => number): number {
  const size = Math.sqrt(-2 * Math.log(1 - uniform()));
  return Math.round(deviation * size * Math.cos(2 * Math.PI * uniform()));
}

/** The 95 % margin of error: the least k with P(|X| > k) = 2 a^(k+1) / (1 + a) at most 0.05, a = e^-epsilon. */
export function margin(epsilon: number): number {
  return tailPoint(epsilon, 0.05 / 2);
}

/** The threshold: the least k with P(X >= k) = a^k / (1 + a) at most 0.001, for an empty cell. */
export function threshold(epsilon: number): number {
  return tailPoint(epsilon, 0.001) + 1;
}

/** The least k with a^(k+1) / (1 + a) at most `chance`. */
function tailPoint(epsilon: number, chance: number): number {
  const a = Math.exp(-epsilon);
  return Math.max(0, Math.ceil(Math.log(chance * (1 + a)) / -epsilon) - 1);
}

/** A random number from 0 to below 1. */
export function uniform(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;
}
