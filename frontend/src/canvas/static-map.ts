/** A still picture of a release on a plain 2D canvas: thumbnails, files, and without WebGL. */
import { type Basemap, WATERLINES } from "../data/basemap";
import { shapePath } from "./paths";
import type { Bounds, MapLayer, Place, Scene } from "../layers/map-layer";
import { toDegrees, toMercator } from "../geometry/mercator";
import { drawFrame, type Edges } from "./neatline";
import type { View } from "../release/permalink";
import { mix, type Palette } from "../colour/ramps";

/** What a map lies on. */
export type Ground = Pick<Scene, "basemap" | "area" | "bounds">;

const TILE = 512;
const WORLD = 2 * Math.PI * 6378137;

/** Fills a canvas on the page with the study area. */
export function drawStaticMap(
  canvas: HTMLCanvasElement,
  scene: Ground,
  layer: MapLayer,
  palette: Palette,
  placed: (width: number, height: number) => Place = (width, height) => fit(scene.bounds, width, height),
): void {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (width === 0 || height === 0) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d")!;
  pen.scale(ratio, ratio);
  drawPicture(pen, scene, layer, palette, placed(width, height), ratio);
}

/** Draws ground, layer and frame over the place; the pen is scaled to CSS pixels. */
export function drawPicture(
  pen: CanvasRenderingContext2D,
  { basemap, area }: Ground,
  layer: MapLayer,
  palette: Palette,
  place: Place,
  ratio: number,
): void {
  const { width, height } = place;
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, width, height);
  pen.clip();
  pen.fillStyle = palette.water;
  pen.fillRect(0, 0, width, height);
  drawLand(pen, basemap, place, palette);
  layer.draw(pen, place, ratio);
  stroke(pen, shapePath(basemap.coast, place), palette.coast, 0.8);
  pen.setLineDash([7, 3, 1.2, 3]);
  stroke(pen, shapePath(area, place), palette.study, 1);
  pen.setLineDash([]);
  drawFrame(pen, width, height, frameEdges(place), palette);
  pen.restore();
}

/** What a map shows at a zoom around a middle. */
export function placeOf({ zoom, latitude, longitude }: View, width: number, height: number): Place {
  const perPixel = WORLD / (TILE * 2 ** zoom);
  const { x, y } = toMercator({ longitude, latitude });
  return { west: x - (width / 2) * perPixel, north: y + (height / 2) * perPixel, perPixel, width, height };
}

/** The study area, filling the picture: the larger side may be cropped a little, never the data. */
export function fit(bounds: Bounds, width: number, height: number, room = 14): Place {
  const [west, south, east, north] = bounds;
  const low = toMercator({ longitude: west, latitude: south });
  const high = toMercator({ longitude: east, latitude: north });
  const perPixel = Math.max(
    (high.x - low.x) / (width - 2 * room),
    (high.y - low.y) / (height - 2 * room),
  );
  return {
    west: (low.x + high.x - width * perPixel) / 2,
    north: (low.y + high.y + height * perPixel) / 2,
    perPixel,
    width,
    height,
  };
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

/** Where degrees lie along the edges of a place. */
export function frameEdges(place: Place): Edges {
  const { west, north, perPixel, width, height } = place;
  const northWest = toDegrees(west, north);
  const southEast = toDegrees(west + width * perPixel, north - height * perPixel);
  return {
    west: northWest.longitude,
    east: southEast.longitude,
    south: southEast.latitude,
    north: northWest.latitude,
    x: (longitude: number) => (toMercator({ longitude, latitude: 0 }).x - west) / perPixel,
    y: (latitude: number) => (north - toMercator({ longitude: 0, latitude }).y) / perPixel,
  };
}
