/** The picture on which a study area is drawn: land, the area, the cursor and the frame. */
import { drawNames } from "../canvas/names";
import { drawFrame, frameEdges } from "../canvas/neatline";
import { shapePath } from "../canvas/paths";
import type { Palette } from "../colour/ramps";
import type { PlaceName } from "../data/basemap";
import type { AreaShape } from "../geometry/area-shape";
import type { Corner, Pixel, Place } from "../geometry/place";

/** Land as a path that is made once, in pixels of the view it was fetched for. */
export type LandPath = Corner & { path: Path2D };

export type Picture = {
  place: Place;
  land: LandPath | null;
  /** Names of towns and countries, the most important ones first. */
  names: readonly PlaceName[];
  area: AreaShape | null;
  /** Drawn as a cross, where the keyboard moves it. */
  cursor: Pixel | null;
};

export function drawPicture(canvas: HTMLCanvasElement, { place, land, names, area, cursor }: Picture, palette: Palette): void {
  const { width, height } = place;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d")!;
  pen.scale(ratio, ratio);
  pen.fillStyle = palette.water;
  pen.fillRect(0, 0, width, height);
  if (land) drawLand(pen, land, place, palette);
  drawArea(pen, area ? shapePath(area, place) : new Path2D(), cursor, palette);
  drawNames(pen, names, place, palette);
  drawFrame(pen, width, height, frameEdges(place), palette);
}

function drawLand(pen: CanvasRenderingContext2D, land: LandPath, place: Place, palette: Palette): void {
  const scale = land.perPixel / place.perPixel;
  pen.save();
  pen.translate((land.west - place.west) / place.perPixel, (place.north - land.north) / place.perPixel);
  pen.scale(scale, scale);
  pen.fillStyle = palette.land;
  pen.fill(land.path, "evenodd");
  pen.strokeStyle = palette.coast;
  pen.lineWidth = 0.8 / scale;
  pen.stroke(land.path);
  pen.restore();
}

function drawArea(pen: CanvasRenderingContext2D, path: Path2D, cursor: Pixel | null, palette: Palette): void {
  pen.globalAlpha = 0.14;
  pen.fillStyle = palette.accent;
  pen.fill(path);
  pen.globalAlpha = 1;
  if (cursor) path.addPath(new Path2D(`M${cursor.x - 9} ${cursor.y}h18M${cursor.x} ${cursor.y - 9}v18`));
  for (const [stroke, width] of [[palette.sheet, 4.5], [palette.accent, 2]] as const) {
    pen.strokeStyle = stroke;
    pen.lineWidth = width;
    pen.stroke(path);
  }
}
