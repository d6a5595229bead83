/** Steps of drawing a study area, as plain functions of its corners so far. */
import { type AreaShape, type Corners, fromCorners, fromOpposite } from "../geometry/area-shape";
import type { Bounds } from "../geometry/place";
import { boundsOfArea } from "../geometry/shapes";

export type Tool = "box" | "outline" | "move";

/** A study area as the form takes it: the sides of a box, or an outline. */
export type Finished = { bounds: Bounds; outline: AreaShape | null };

type Corner = Corners[number];

/** Adds a corner. A box ends at its second; an outline where its last is repeated. */
export function putCorner(
  tool: Tool,
  corners: Corners,
  corner: Corner,
  repeatsLast: boolean,
): { corners: Corners; finished: boolean } {
  if (tool === "outline" && repeatsLast) return { corners, finished: true };
  const longer = [...corners, corner];
  return { corners: longer, finished: tool === "box" && longer.length === 2 };
}

/** What is drawn up to the pointer; null before the first corner. */
export function shapeSoFar(tool: Tool, corners: Corners, pointer: Corner): AreaShape | null {
  const [first] = corners;
  if (!first) return null;
  return tool === "outline" ? fromCorners([...corners, pointer]) : fromOpposite(first, pointer);
}

/** The finished area with rounded corners; null where it has no extent or too few corners. */
export function finish(tool: Tool, corners: Corners, decimals: number): Finished | null {
  if (corners.length < (tool === "outline" ? 3 : 2)) return null;
  const rounded = corners.map(([x, y]): Corner => [round(x, 180, decimals), round(y, 85, decimals)]);
  const shape = fromCorners(rounded);
  const bounds = boundsOfArea(shape);
  const [west, south, east, north] = bounds;
  if (west === east || south === north) return null;
  return { bounds, outline: tool === "outline" ? shape : null };
}

function round(degrees: number, most: number, decimals: number): number {
  return Number(Math.min(most, Math.max(-most, degrees)).toFixed(decimals));
}
