/** Neatline: the map's frame, graduated in degrees like a chart's. */
import type { Palette } from "../colour/ramps";
import { pixelOf, type Place, positionAt } from "../geometry/place";

const BAND = 5;
const GRADUATIONS = [1, 2, 5].flatMap((digit) =>
  [-5, -4, -3, -2, -1, 0, 1].map((power) => digit * 10 ** power),
).sort((a, b) => a - b);
const WANTED_PIXELS = 44;

/** Edges of a map in degrees, and the CSS pixel of each degree along them. */
export type Edges = {
  west: number;
  east: number;
  south: number;
  north: number;
  x: (longitude: number) => number;
  y: (latitude: number) => number;
};

/**
 * Draws the frame on a canvas along each side of an element: one over the whole map would have the
 * browser mix all its pixels with the map's whenever that is drawn.
 */
export function drawNeatline(frame: HTMLElement, edges: Edges, palette: Palette): void {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = frame;
  if (!frame.childElementCount) frame.append(...Array.from({ length: 4 }, () => document.createElement("canvas")));
  for (const side of frame.querySelectorAll("canvas")) {
    side.width = Math.round(side.clientWidth * ratio);
    side.height = Math.round(side.clientHeight * ratio);
    const pen = side.getContext("2d", { willReadFrequently: true })!;
    pen.scale(ratio, ratio);
    pen.translate(-side.offsetLeft, -side.offsetTop);
    drawFrame(pen, width, height, edges, palette);
  }
}

export function drawFrame(
  pen: CanvasRenderingContext2D,
  width: number,
  height: number,
  edges: Edges,
  palette: Palette,
): void {
  pen.fillStyle = palette.sheet;
  for (const [x, y, w, h] of [
    [0, 0, width, BAND],
    [0, height - BAND, width, BAND],
    [0, 0, BAND, height],
    [width - BAND, 0, BAND, height],
  ] as const) {
    pen.fillRect(x, y, w, h);
  }
  pen.fillStyle = palette.ink;
  const step = graduation((edges.east - edges.west) / width);
  for (const [from, to] of bars(edges.west, edges.east, step, edges.x, BAND, width - BAND)) {
    pen.fillRect(from, 1.5, to - from, 2);
    pen.fillRect(from, height - 3.5, to - from, 2);
  }
  for (const [from, to] of bars(edges.south, edges.north, step, edges.y, BAND, height - BAND)) {
    pen.fillRect(1.5, from, 2, to - from);
    pen.fillRect(width - 3.5, from, 2, to - from);
  }
  pen.strokeStyle = palette.ink;
  pen.lineWidth = 1;
  pen.strokeRect(0.5, 0.5, width - 1, height - 1);
  pen.strokeRect(BAND - 0.5, BAND - 0.5, width - 2 * BAND + 1, height - 2 * BAND + 1);
}

/** Length of a bar in degrees: the round one that comes nearest to the wanted length on screen. */
export function graduation(degreesPerPixel: number): number {
  const wanted = WANTED_PIXELS * degreesPerPixel;
  const distance = (step: number) => Math.abs(Math.log(step / wanted));
  return GRADUATIONS.reduce((best, step) => (distance(step) < distance(best) ? step : best));
}

function* bars(
  low: number,
  high: number,
  step: number,
  place: (degrees: number) => number,
  least: number,
  most: number,
): Iterable<[number, number]> {
  const first = 2 * Math.floor(low / step / 2);
  for (let count = first; count * step < high; count += 2) {
    const ends = [place(count * step), place((count + 1) * step)].sort((a, b) => a - b);
    const from = Math.max(least, ends[0]!);
    const to = Math.min(most, ends[1]!);
    if (to > from) yield [from, to];
  }
}

/** The edges of a place on a canvas. */
export function frameEdges(place: Place): Edges {
  const { width, height } = place;
  const northWest = positionAt(place, { x: 0, y: 0 });
  const southEast = positionAt(place, { x: width, y: height });
  return {
    west: northWest.longitude,
    east: southEast.longitude,
    south: southEast.latitude,
    north: northWest.latitude,
    x: (longitude: number) => pixelOf(place, { longitude, latitude: 0 }).x,
    y: (latitude: number) => pixelOf(place, { longitude: 0, latitude }).y,
  };
}
