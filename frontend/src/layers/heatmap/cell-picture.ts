/** Picture of the cells on a 2D canvas, by the same rules as the interactive map's shader. */
import type { Geometry } from "geojson";
import { AT_SEA, hatchCover } from "../../canvas/hatch";
import { shapePath } from "../../canvas/paths";
import { type Palette, parseHex } from "../../colour/ramps";
import type { Grid } from "../../geometry/grid";
import type { Place } from "../../geometry/place";
import { type CellImage, GAP_FROM, HATCHED, LOWER_EDGE, NOTHING, RIGHT_EDGE } from "./cell-image";

/** Marks the device pixels that are land: four bytes each, of which the last is 255 on land. */
export function landMask(land: Geometry, place: Place, ratio: number): Uint8ClampedArray {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(place.width * ratio);
  canvas.height = Math.round(place.height * ratio);
  const pen = canvas.getContext("2d")!;
  pen.fill(shapePath(land, { ...place, perPixel: place.perPixel / ratio }), "evenodd");
  return pen.getImageData(0, 0, canvas.width, canvas.height).data;
}

/** Draws the cells on a new canvas of the place's size in device pixels; without `land` all is taken for land. */
export function cellsPicture(
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
  const ramp = palette.ramp.map(parseHex);
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

