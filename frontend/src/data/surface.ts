/** Layer of counts spread over the cells of its grid, for lookups by cell. */
import type { Grid } from "../geometry/grid";
import type { BoxLayer, Noise } from "./release-array";

export const NOWHERE = -1;

export type Box = { top: number; bottom: number; left: number; right: number };

export type Reading = {
  box: Box;
  /** Cells of the box inside the study area. */
  cells: number;
  value: number;
  noise: Noise;
  /** Whether the count reaches the threshold that an empty box seldom reaches. */
  standsOut: boolean;
};

export class Surface {
  readonly grid: Grid;
  readonly layer: BoxLayer;
  /** The index of each cell's box, or NOWHERE outside the study area. */
  readonly boxOf: Int32Array;
  private shown: Int32Array | null = null;

  /**
   * `inside` marks the cells that touch the study area; null where all do. `alike` is a surface of
   * the same boxes, with which the index of boxes is shared.
   */
  constructor(grid: Grid, inside: Uint8Array | null, layer: BoxLayer, alike?: Surface) {
    this.grid = grid;
    this.layer = layer;
    if (alike) {
      this.boxOf = alike.boxOf;
      return;
    }
    this.boxOf = layer.boxes ? spread(layer.boxes, grid) : count(grid.rows * grid.columns);
    if (!inside) return;
    for (let cell = 0; cell < inside.length; cell++) if (!inside[cell]) this.boxOf[cell] = NOWHERE;
  }

  get length(): number {
    return this.layer.stored.length;
  }

  value(box: number): number {
    return this.layer.step * this.layer.stored[box]!;
  }

  noise(box: number): Noise {
    const noise = this.layer.noise[this.layer.noiseIndex?.[box] ?? 0]!;
    const { spread } = this.layer;
    return spread ? { ...noise, margin: Math.hypot(noise.margin, spread * this.value(box)) } : noise;
  }

  cellsOf(box: number): number {
    return this.layer.cells?.[box] ?? 1;
  }

  standsOut(box: number): boolean {
    const value = this.value(box);
    return value > 0 && value >= this.layer.noise[this.layer.noiseIndex?.[box] ?? 0]!.threshold;
  }

  /** People or visits per cell. */
  density(box: number): number {
    return this.value(box) / Math.max(1, this.cellsOf(box));
  }

  marginDensity(box: number): number {
    return this.noise(box).margin / Math.max(1, this.cellsOf(box));
  }

  /** The distinct margins of boxes that stand out. */
  marginsShown(): number[] {
    const boxes = this.visible();
    const { noise, noiseIndex, spread } = this.layer;
    if (!noiseIndex && !spread) return boxes.some((box) => this.standsOut(box)) ? [noise[0]!.margin] : [];
    const shown = new Set<number>();
    for (const box of boxes) if (this.standsOut(box)) shown.add(this.noise(box).margin);
    return [...shown];
  }

  edges(box: number): Box {
    const { boxes } = this.layer;
    if (boxes) {
      const [top, bottom, left, right] = boxes.subarray(4 * box, 4 * box + 4);
      return { top: top!, bottom: bottom!, left: left!, right: right! };
    }
    const top = Math.floor(box / this.grid.columns);
    const left = box % this.grid.columns;
    return { top, bottom: top + 1, left, right: left + 1 };
  }

  /** The box of a cell, or NOWHERE outside the grid and the study area. */
  at(row: number, column: number): number {
    const { rows, columns } = this.grid;
    if (row < 0 || column < 0 || row >= rows || column >= columns) return NOWHERE;
    return this.boxOf[row * columns + column]!;
  }

  read(box: number): Reading {
    return {
      box: this.edges(box),
      cells: this.cellsOf(box),
      value: this.value(box),
      noise: this.noise(box),
      standsOut: this.standsOut(box),
    };
  }

  /** The boxes that reach into the study area, each once. A million are gone through faster as an array. */
  visible(): Int32Array {
    this.shown ??= this.layer.boxes ? count(this.length) : somewhere(this.boxOf);
    return this.shown;
  }
}

function count(length: number): Int32Array {
  const counted = new Int32Array(length);
  for (let index = 0; index < length; index++) counted[index] = index;
  return counted;
}

/** What is not NOWHERE. A function for each of a million cells would take many times as long. */
function somewhere(boxOf: Int32Array): Int32Array {
  const boxes = new Int32Array(boxOf.length);
  let found = 0;
  for (let cell = 0; cell < boxOf.length; cell++) if (boxOf[cell] !== NOWHERE) boxes[found++] = boxOf[cell]!;
  return boxes.subarray(0, found);
}

function spread(boxes: Uint16Array, grid: Grid): Int32Array {
  const boxOf = new Int32Array(grid.rows * grid.columns).fill(NOWHERE);
  for (let box = 0; 4 * box < boxes.length; box++) {
    const [top, bottom, left, right] = boxes.subarray(4 * box, 4 * box + 4) as unknown as number[];
    for (let row = top!; row < bottom!; row++) {
      boxOf.fill(box, row * grid.columns + left!, row * grid.columns + right!);
    }
  }
  return boxOf;
}
