/** A still picture of a release on a plain 2D canvas: thumbnails, and where WebGL is missing. */
import { type Basemap, WATERLINES } from "./basemap";
import { type CellImage, GAP_FROM, HATCHED, LOWER_EDGE, NOTHING, RIGHT_EDGE } from "./cell-image";
import { AT_SEA, hatchCover } from "./hatch";
import { shapePath } from "./land-path";
import { toDegrees, toMercator } from "./mercator";
import { drawFrame } from "./neatline";
import { mix, type Palette, parseHex } from "./ramps";
import type { Grid, ReleaseArray } from "./release-array";

/** Where Web Mercator metres fall on the canvas, in CSS pixels. */
type Place = { west: number; north: number; perPixel: number; width: number; height: number };

export function drawStaticMap(
  canvas: HTMLCanvasElement,
  array: ReleaseArray,
  image: CellImage,
  basemap: Basemap | null,
  palette: Palette,
): void {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (width === 0 || height === 0) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d")!;
  const place = fit(array, width, height);
  pen.scale(ratio, ratio);
  pen.fillStyle = palette.water;
  pen.fillRect(0, 0, width, height);
  if (basemap) drawLand(pen, basemap, place, palette);
  const land = basemap && landMask(basemap, place, ratio);
  pen.drawImage(cellsPicture(image, array.grid, place, ratio, palette, land), 0, 0, width, height);
  if (basemap) stroke(pen, shapePath(basemap.coast, place), palette.coast, 0.8);
  pen.setLineDash([7, 3, 1.2, 3]);
  stroke(pen, shapePath(array.area, place), palette.study, 1);
  pen.setLineDash([]);
  drawFrame(pen, width, height, frameEdges(place), palette);
}

/** The study area, filling the picture: the larger side may be cropped a little, never the data. */
function fit(array: ReleaseArray, width: number, height: number): Place {
  const [west, south, east, north] = array.bounds;
  const low = toMercator({ longitude: west, latitude: south });
  const high = toMercator({ longitude: east, latitude: north });
  const room = 14;
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

/** Which device pixels are land: four bytes each, of which the last is 255 there. */
function landMask(basemap: Basemap, place: Place, ratio: number): Uint8ClampedArray {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(place.width * ratio);
  canvas.height = Math.round(place.height * ratio);
  const pen = canvas.getContext("2d")!;
  pen.fill(shapePath(basemap.land, { ...place, perPixel: place.perPixel / ratio }), "evenodd");
  return pen.getImageData(0, 0, canvas.width, canvas.height).data;
}

/** The cells, pixel by pixel with the rules of the interactive map's shader. */
function cellsPicture(
  image: CellImage,
  grid: Grid,
  place: Place,
  ratio: number,
  palette: Palette,
  land: Uint8ClampedArray | null,
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(place.width * ratio);
  canvas.height = Math.round(place.height * ratio);
  const pen = canvas.getContext("2d")!;
  const picture = pen.createImageData(canvas.width, canvas.height);
  const ramp = palette.tide.map(parseHex);
  const hatch = parseHex(palette.hatch);
  const cellSize = (grid.cell / place.perPixel) * ratio;
  const left = ((grid.west - place.west) / place.perPixel) * ratio;
  const top = ((place.north - grid.north) / place.perPixel) * ratio;
  for (let y = 0; y < canvas.height; y++) {
    const row = Math.floor((y + 0.5 - top) / cellSize);
    if (row < 0 || row >= image.rows) continue;
    const lastRow = Math.floor((y + 1.5 - top) / cellSize) !== row;
    for (let x = 0; x < canvas.width; x++) {
      const column = Math.floor((x + 0.5 - left) / cellSize);
      if (column < 0 || column >= image.columns) continue;
      const cell = 4 * (row * image.columns + column);
      const look = image.pixels[cell]!;
      if (look === NOTHING) continue;
      const at = 4 * (y * canvas.width + x);
      if (look === HATCHED) {
        const cover = hatchCover((x + 0.5) / ratio, (y + 0.5) / ratio, ratio);
        put(picture.data, at, hatch, !land || land[at + 3]! > 127 ? cover : cover * AT_SEA);
        continue;
      }
      const lastColumn = Math.floor((x + 1.5 - left) / cellSize) !== column;
      if (!isGap(image.pixels, cell, cellSize / ratio, lastColumn, lastRow)) {
        put(picture.data, at, ramp[look]!, 1);
      }
    }
  }
  pen.putImageData(picture, 0, 0);
  return canvas;
}

function isGap(
  pixels: Uint8Array,
  cell: number,
  cellSize: number,
  lastColumn: boolean,
  lastRow: boolean,
): boolean {
  const flags = pixels[cell + 1]!;
  const narrow = (extent: number) => extent * cellSize <= GAP_FROM;
  return (
    (lastColumn && (flags & RIGHT_EDGE) !== 0 && !narrow(pixels[cell + 2]!)) ||
    (lastRow && (flags & LOWER_EDGE) !== 0 && !narrow(pixels[cell + 3]!))
  );
}

function put(data: Uint8ClampedArray, at: number, colour: readonly number[], cover: number): void {
  data[at] = colour[0]!;
  data[at + 1] = colour[1]!;
  data[at + 2] = colour[2]!;
  data[at + 3] = Math.round(255 * cover);
}

function frameEdges(place: Place) {
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
