/** Square on the ground that densities are stated for, as in "people per 500 m square". */
import { formatMetres } from "../ui/format";

export type Square = {
  /** Its side in words, and in metres on the ground. */
  side: string;
  metres: number;
  /** Its area in cells of the grid. */
  cells: number;
};

const ROUND_METRES = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

/**
 * One cell, unless the least class would begin below one person there: then the smallest round
 * square that holds at least one, so that the legend can speak of whole people.
 */
export function squareFor(cellMetres: number, leastDensity: number): Square {
  const needed = cellMetres / Math.sqrt(leastDensity);
  const round = ROUND_METRES.find((metres) => metres >= needed && metres > cellMetres);
  if (leastDensity >= 1 || leastDensity <= 0 || round === undefined) {
    return { side: formatMetres(cellMetres), metres: cellMetres, cells: 1 };
  }
  return sameSquare(round, cellMetres);
}

/** A square with a side in metres, on a grid with other cells. */
export function sameSquare(metres: number, cellMetres: number): Square {
  return { side: formatMetres(metres), metres, cells: (metres / cellMetres) ** 2 };
}
