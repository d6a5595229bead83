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
  // Its pixels are read at once, which would keep the page waiting for the graphics processor.
  const pen = canvas.getContext("2d", { willReadFrequently: true })!;
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
  const pen = canvas.getContext("2d", { willReadFrequently: true })!;
  const picture = pen.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(picture.data.buffer);
  const ramp = palette.ramp.map((colour) => packed(parseHex(colour), 1));
  const [hatch, hatchAtSea] = hatches(parseHex(palette.hatch), canvas.width + canvas.height, ratio);
  const cellSize = (grid.cell / place.perPixel) * ratio;
  const left = ((grid.west - place.west) / place.perPixel) * ratio;
  const top = ((place.north - grid.north) / place.perPixel) * ratio;
  const columns = Int32Array.from({ length: canvas.width + 1 }, (_, x) => Math.floor((x + 0.5 - left) / cellSize));
  const [width, height] = [canvas.width, canvas.height];
  for (let y = 0; y < height; y++) {
    const row = Math.floor((y + 0.5 - top) / cellSize);
    if (row < 0 || row >= image.rows) continue;
    const lastRow = Math.floor((y + 1.5 - top) / cellSize) !== row;
    for (let x = 0; x < width; x++) {
      const column = columns[x]!;
      if (column < 0 || column >= image.columns) continue;
      const cell = 4 * (row * image.columns + column);
      const look = image.pixels[cell]!;
      if (look === NOTHING) continue;
      const at = y * width + x;
      if (look === HATCHED) {
        pixels[at] = (!land || land[4 * at + 3]! > 127 ? hatch : hatchAtSea)[x + y]!;
        continue;
      }
      const lastColumn = columns[x + 1] !== column;
      if (!isGap(image.pixels, cell, cellSize / ratio, lastColumn, lastRow)) pixels[at] = ramp[look]!;
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
  return (
    (lastColumn && (flags & RIGHT_EDGE) !== 0 && pixels[cell + 2]! * cellSize > GAP_FROM) ||
    (lastRow && (flags & LOWER_EDGE) !== 0 && pixels[cell + 3]! * cellSize > GAP_FROM)
  );
}

/** The hatch on land and at sea by a pixel's `x + y`, on which alone it depends. */
function hatches(colour: readonly number[], length: number, ratio: number): [Uint32Array, Uint32Array] {
  const covers = Float64Array.from({ length }, (_, along) => hatchCover((along + 1) / ratio, 0, ratio));
  return [Uint32Array.from(covers, (cover) => packed(colour, cover)), Uint32Array.from(covers, (cover) => packed(colour, cover * AT_SEA))];
}

/** A pixel of an image as one number: red in the lowest byte, on all machines with a browser. */
function packed([red, green, blue]: readonly number[], cover: number): number {
  return (Math.round(255 * cover) << 24) | (blue! << 16) | (green! << 8) | red!;
}

