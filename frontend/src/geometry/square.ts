/** Square on the ground that counts are stated for, as in "people per 500 m square". */
import { formatMetres } from "../ui/format";

export type Square = {
  /** Its side in words, and in metres on the ground. */
  side: string;
  metres: number;
  /** Its area in cells of the grid. */
  cells: number;
};

/** Sides that differ by less than this factor are the same, as in `postprocess.opening`: 97 m are called 100 m. */
const CLOSE = 1.05;

/** A square with a side in metres; a cell of the grid where that is as large or no side is given. */
export function squareOf(metres: number | null | undefined, cellMetres: number): Square {
  const ratio = (metres || cellMetres) / cellMetres;
  if (ratio < CLOSE && ratio > 1 / CLOSE) {
    return { side: formatMetres(metres || cellMetres), metres: metres || cellMetres, cells: 1 };
  }
  return { side: formatMetres(metres!), metres: metres!, cells: ratio ** 2 };
}
