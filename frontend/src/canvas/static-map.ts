/** Static map on a 2D canvas, for thumbnails, image files and browsers without WebGL. */
import { mix, type Palette } from "../colour/ramps";
import { type Basemap, WATERLINES } from "../data/basemap";
import type { Ground } from "../data/scene";
import { fit, type Place } from "../geometry/place";
import { drawNames } from "./names";
import { drawFrame, frameEdges } from "./neatline";
import { shapePath } from "./paths";

/** A layer as far as a static map needs it; it is drawn between the land and the coast. */
export type Drawable = {
  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void;
};

/** Draws a map on a canvas of the page, by default of the whole study area. */
export function drawStaticMap(
  canvas: HTMLCanvasElement,
  scene: Ground,
  layer: Drawable,
  palette: Palette,
  placed: (width: number, height: number) => Place = (width, height) => fit(scene.bounds, width, height),
): void {
  finish(staticMap(canvas, scene, layer, palette, placed));
}

/** Draws the same part by part, between which a page can answer its reader. */
export function* staticMap(
  canvas: HTMLCanvasElement,
  scene: Ground,
  layer: Drawable,
  palette: Palette,
  placed: (width: number, height: number) => Place,
): Generator<void> {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (width === 0 || height === 0) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d", { alpha: false, willReadFrequently: true })!;
  pen.scale(ratio, ratio);
  yield;
  yield* picture(pen, scene, layer, palette, placed(width, height), ratio);
}

/** Draws ground, layer and frame of a place; the pen is already scaled to CSS pixels. */
export function drawPicture(...of: Parameters<typeof picture>): void {
  finish(picture(...of));
}

function finish(parts: Generator<void>): void {
  while (!parts.next().done);
}

function* picture(
  pen: CanvasRenderingContext2D,
  { basemap, area }: Ground,
  layer: Drawable,
  palette: Palette,
  place: Place,
  ratio: number,
): Generator<void> {
  const { width, height } = place;
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, width, height);
  pen.clip();
  pen.fillStyle = palette.water;
  pen.fillRect(0, 0, width, height);
  drawLand(pen, basemap, place, palette);
  yield;
  layer.draw(pen, place, ratio);
  yield;
  stroke(pen, shapePath(basemap.coast, place), palette.coast, 0.8);
  pen.setLineDash([7, 3, 1.2, 3]);
  stroke(pen, shapePath(area, place), palette.study, 1);
  pen.setLineDash([]);
  drawNames(pen, basemap.names ?? [], place, palette);
  drawFrame(pen, width, height, frameEdges(place), palette);
  pen.restore();
}

function drawLand(
  pen: CanvasRenderingContext2D,
  basemap: Basemap,
  place: Place,
  palette: Palette,
): void {
  const coast = shapePath(basemap.coast, place);
  pen.lineJoin = "round";
  for (const [distance, strength] of WATERLINES.slice(-2)) {
    stroke(pen, coast, mix(palette.water, palette.waterline, strength), 1.4 * distance + 1.5);
    stroke(pen, coast, palette.water, 1.4 * distance - 0.1);
  }
  pen.fillStyle = palette.outside;
  pen.fill(shapePath(basemap.land, place), "evenodd");
  pen.fillStyle = palette.land;
  pen.fill(shapePath(basemap.inside, place), "evenodd");
}

function stroke(
  pen: CanvasRenderingContext2D,
  shape: Path2D,
  colour: string,
  width: number,
): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke(shape);
}
