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
  const edges = basis
    ? [...basis.edges]
    : classEdges(
        densities(surface, show).map((value) => value * square.cells),
        show === "estimate" && surface.layer.kind === "measured" && square.cells === 1,
        scale,
      );
  const steps = rampSteps(edges.length);
  const looks = new Uint8Array(surface.length);
  let coloured = 0;
  let hatched = 0;
  for (const box of surface.visible()) {
    if (show === "estimate" && !surface.standsOut(box)) {
      looks[box] = HATCHED;
      hatched += surface.cellsOf(box);
    } else {
      const value = show === "margin" ? surface.marginDensity(box) : surface.density(box);
      looks[box] = steps[classOf(value * square.cells, edges)]!;
      coloured += surface.cellsOf(box);
    }
  }
  const pixels = fill(surface, looks);
  return { columns, rows, pixels, edges, square, steps, coloured, hatched };
}

/** Counts or margins per cell of the boxes that are coloured. */
function densities(surface: Surface, show: Style["show"]): number[] {
  const values: number[] = [];
  for (const box of surface.visible()) {
    if (show === "margin") values.push(surface.marginDensity(box));
    else if (surface.standsOut(box)) values.push(surface.density(box));
  }
  return values;
}

function fill(surface: Surface, looks: Uint8Array): Uint8Array<ArrayBuffer> {
  const { rows, columns } = surface.grid;
  const pixels = new Uint8Array(4 * rows * columns);
  const shapes = surface.layer.boxes && boxShapes(surface.layer.boxes);
  for (let cell = 0, at = 0; at < pixels.length; cell++, at += 4) {
    const box = surface.boxOf[cell]!;
    if (box === NOWHERE) {
      pixels[at] = NOTHING;
      continue;
    }
    pixels[at] = looks[box]!;
    const right = (cell + 1) % columns === 0 || surface.boxOf[cell + 1] !== box;
    const lower = surface.boxOf[cell + columns] !== box;
    pixels[at + 1] = (right ? RIGHT_EDGE : 0) | (lower ? LOWER_EDGE : 0);
    pixels[at + 2] = shapes ? shapes[2 * box]! : 1;
    pixels[at + 3] = shapes ? shapes[2 * box + 1]! : 1;
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
