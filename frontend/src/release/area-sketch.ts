/** Steps of drawing an area on the map, as plain functions of what is drawn so far. */
import { type AreaShape, type Corners, fromCorners, fromOpposite } from "../geometry/area-shape";

export type Tool = "box" | "polygon";

/** An unfinished area: its corners, and where the pointer is. */
export type Sketch = {
  readonly tool: Tool;
  readonly corners: Corners;
  readonly pointer: Corners[number] | null;
};

export function startSketch(tool: Tool): Sketch {
  return { tool, corners: [], pointer: null };
}

/** A box begins where the pointer is pressed; a new press begins again. */
export function press(sketch: Sketch, at: Corners[number]): Sketch {
  return sketch.tool === "box" ? { ...sketch, corners: [at], pointer: at } : sketch;
}

/** Once there is a corner, the pointer is what the next line leads to. */
export function moveTo(sketch: Sketch, at: Corners[number]): Sketch {
  return sketch.corners.length ? { ...sketch, pointer: at } : sketch;
}

/** A corner of a polygon; the second click of a double click adds none. */
export function addCorner(sketch: Sketch, at: Corners[number]): Sketch {
  const last = sketch.corners.at(-1);
  if (sketch.tool !== "polygon" || (last?.[0] === at[0] && last[1] === at[1])) return sketch;
  return { ...sketch, corners: [...sketch.corners, at] };
}

/** The line to be drawn: a polygon up to the pointer, or the outline of a box. */
export function outlineOf({ tool, corners, pointer }: Sketch): Corners {
  const [first] = corners;
  if (!first || !pointer) return corners;
  if (tool === "polygon") return [...corners, pointer];
  const [[x, y], [toX, toY]] = [first, pointer];
  return [[x, y], [toX, y], [toX, toY], [x, toY], [x, y]];
}

/** The finished area; null of a box without extent, and of a polygon without three corners. */
export function areaOf({ tool, corners, pointer }: Sketch): AreaShape | null {
  if (tool === "polygon") return corners.length < 3 ? null : fromCorners(corners);
  const [first] = corners;
  if (!first || !pointer || first[0] === pointer[0] || first[1] === pointer[1]) return null;
  return fromOpposite(first, pointer);
}
