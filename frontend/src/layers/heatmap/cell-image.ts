/** Image of the cells: the ramp step of each, or hatch, and the edges of its box. */
import { classEdges, classOf, rampSteps } from "../../colour/classes";
import { NOWHERE, type Surface } from "../../data/surface";
import { groundCell } from "../../geometry/grid";
import { type Square, squareOf } from "../../geometry/square";
import type { Style } from "../map-layer";

export const HATCHED = 254;
export const NOTHING = 255;

/** A box ends at the right or the lower side of this cell. */
export const RIGHT_EDGE = 1;
export const LOWER_EDGE = 2;

/** Boxes this wide on screen, in CSS pixels, stand one device pixel apart; finer ones fuse. */
export const GAP_FROM = 8;

export type CellImage = {
  columns: number;
  rows: number;
  /** Four bytes for each cell: step or HATCHED or NOTHING; edges; width and height of its box, to 255. */
  pixels: Uint8Array<ArrayBuffer>;
  /** Lower edges of the classes, in counts per `square`. */
  edges: number[];
  square: Square;
  /** The step of the ramp that each class takes. */
  steps: number[];
  coloured: number;
  hatched: number;
};

export function paintCells(surface: Surface, { show, scale, metres, basis }: Style): CellImage {
  const { rows, columns } = surface.grid;
  const square = squareOf(basis?.metres ?? metres, groundCell(surface.grid));
  const boxes = surface.visible();
  const shown = show === "margin" ? boxes : standing(surface, boxes);
  const values = new Float64Array(shown.length);
  for (let index = 0; index < shown.length; index++) {
    const box = shown[index]!;
    values[index] = (show === "margin" ? surface.marginDensity(box) : surface.density(box)) * square.cells;
  }
  const edges = basis
    ? [...basis.edges]
    : classEdges(values, show === "estimate" && surface.layer.kind === "measured" && square.cells === 1, scale);
  const steps = rampSteps(edges.length);
  const looks = new Uint8Array(surface.length).fill(HATCHED);
  for (let index = 0; index < shown.length; index++) looks[shown[index]!] = steps[classOf(values[index]!, edges)]!;
  const coloured = cellsOf(surface, shown);
  const hatched = cellsOf(surface, boxes) - coloured;
  const pixels = fill(surface, looks);
  return { columns, rows, pixels, edges, square, steps, coloured, hatched };
}

function standing(surface: Surface, boxes: Int32Array): Int32Array {
  const found = new Int32Array(boxes.length);
  let length = 0;
  for (let index = 0; index < boxes.length; index++) if (surface.standsOut(boxes[index]!)) found[length++] = boxes[index]!;
  return found.subarray(0, length);
}

function cellsOf(surface: Surface, boxes: Int32Array): number {
  if (!surface.layer.cells) return boxes.length;
  return boxes.reduce((sum, box) => sum + surface.cellsOf(box), 0);
}

function fill(surface: Surface, looks: Uint8Array): Uint8Array<ArrayBuffer> {
  const { rows, columns } = surface.grid;
  const { boxOf, layer } = surface;
  const pixels = new Uint8Array(4 * rows * columns);
  if (!layer.boxes) {
    // Each cell is a box of its own, one cell wide and high: four bytes at once, the lowest first.
    const square = ((RIGHT_EDGE | LOWER_EDGE) << 8) | (1 << 16) | (1 << 24);
    const words = new Uint32Array(pixels.buffer);
    for (let cell = 0; cell < boxOf.length; cell++) {
      const box = boxOf[cell]!;
      words[cell] = box === NOWHERE ? NOTHING : looks[box]! | square;
    }
    return pixels;
  }
  const shapes = boxShapes(layer.boxes);
  for (let cell = 0, at = 0; cell < boxOf.length; cell++, at += 4) {
    const box = boxOf[cell]!;
    if (box === NOWHERE) {
      pixels[at] = NOTHING;
      continue;
    }
    pixels[at] = looks[box]!;
    const right = (cell + 1) % columns === 0 || boxOf[cell + 1] !== box;
    const lower = boxOf[cell + columns] !== box;
    pixels[at + 1] = (right ? RIGHT_EDGE : 0) | (lower ? LOWER_EDGE : 0);
    pixels[at + 2] = shapes[2 * box]!;
    pixels[at + 3] = shapes[2 * box + 1]!;
  }
  return pixels;
}

/** Width and height of each box in cells, to 255. */
function boxShapes(boxes: Uint16Array): Uint8Array {
  const shapes = new Uint8Array(boxes.length / 2);
  for (let at = 0; at < boxes.length; at += 4) {
    shapes[at / 2] = Math.min(255, boxes[at + 3]! - boxes[at + 2]!);
    shapes[at / 2 + 1] = Math.min(255, boxes[at + 1]! - boxes[at]!);
  }
  return shapes;
}
