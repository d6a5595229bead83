/** How each cell is to be drawn: its step of the ramp, or hatch, and where its box ends. */
import { STEPS, classEdges, classOf, rampStep } from "./classes";
import type { Show } from "./permalink";
import { NOWHERE, type Surface } from "./surface";

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
  /** Four bytes a cell: step or HATCHED or NOTHING; edges; width and height of its box, to 255. */
  pixels: Uint8Array<ArrayBuffer>;
  /** Lower edges of the classes, per cell. */
  edges: number[];
  /** The step of the ramp that each class takes. */
  steps: number[];
  coloured: number;
  hatched: number;
};

export function paintCells(surface: Surface, show: Show): CellImage {
  const { rows, columns } = surface.grid;
  const edges = show === "margin" ? marginEdges(surface) : estimateEdges(surface);
  const steps = edges.map((_, index) => rampStep(index, edges.length));
  const looks = new Uint8Array(surface.length);
  let coloured = 0;
  let hatched = 0;
  for (const box of surface.visible()) {
    if (show === "estimate" && !surface.standsOut(box)) {
      looks[box] = HATCHED;
      hatched += surface.cellsOf(box);
    } else {
      const value = show === "margin" ? surface.marginDensity(box) : surface.density(box);
      looks[box] = steps[classOf(value, edges)]!;
      coloured += surface.cellsOf(box);
    }
  }
  return { columns, rows, pixels: fill(surface, looks), edges, steps, coloured, hatched };
}

function estimateEdges(surface: Surface): number[] {
  const values: number[] = [];
  for (const box of surface.visible()) if (surface.standsOut(box)) values.push(surface.density(box));
  return classEdges(values, surface.layer.boxes === null && surface.layer.kind === "measured");
}

function marginEdges(surface: Surface): number[] {
  const values: number[] = [];
  for (const box of surface.visible()) values.push(surface.marginDensity(box));
  return classEdges(values, false).slice(0, STEPS);
}

function fill(surface: Surface, looks: Uint8Array): Uint8Array<ArrayBuffer> {
  const { rows, columns } = surface.grid;
  const pixels = new Uint8Array(4 * rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const cell = row * columns + column;
      const box = surface.boxOf[cell]!;
      if (box === NOWHERE) {
        pixels[4 * cell] = NOTHING;
        continue;
      }
      const { top, bottom, left, right } = surface.edges(box);
      pixels[4 * cell] = looks[box]!;
      pixels[4 * cell + 1] =
        (column + 1 === right ? RIGHT_EDGE : 0) | (row + 1 === bottom ? LOWER_EDGE : 0);
      pixels[4 * cell + 2] = Math.min(255, right - left);
      pixels[4 * cell + 3] = Math.min(255, bottom - top);
    }
  }
  return pixels;
}
