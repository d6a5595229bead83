/** Grids of square cells in Web Mercator metres, from their north-west corner. */
import { groundScale, toDegrees } from "./mercator";

export type Grid = { west: number; north: number; cell: number; columns: number; rows: number };

/** Side of a cell in metres on the ground, at the middle of the grid. */
export function groundCell(grid: Grid): number {
  const north = toDegrees(0, grid.north).latitude;
  const south = toDegrees(0, grid.north - grid.rows * grid.cell).latitude;
  return grid.cell * groundScale((north + south) / 2);
}
