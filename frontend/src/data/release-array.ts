/**
 * Decoder of `map.bin`, the compact typed array that a map is drawn from.
 *
 * Layout: "DPGM", uint32 version, uint32 length of the header, a JSON header, then arrays at offsets
 * from the start of the data; all little-endian, as every machine with a browser is.
 */
import type { MultiPolygon, Polygon } from "geojson";
import type { Grid } from "../geometry/grid";
import type { Degrees } from "../geometry/mercator";
import type { Bounds } from "../geometry/place";
import { boundsOfArea } from "../geometry/shapes";
import { t } from "../ui/translate";

/** Noise of a count: its 95 % margin, and the threshold that an empty count seldom reaches. */
export type Noise = { margin: number; threshold: number; label: string };

/** `slice` marks one of several layers that differ in their value of a category or in their time alone. */
type Named = {
  name: string;
  title: string;
  kind: "measured" | "inferred";
  slice?: boolean;
  /** Titles of a slice's value of a category and of its time; "" where it is not divided by that. */
  of_value?: string;
  of_time?: string;
  /** Unit behind the values, as the publisher declared it; left out for counts. */
  unit?: string;
};

/** Counts of cells or of boxes of cells. */
export type BoxLayer = Named & {
  shape: "cells" | "boxes";
  /** The count of each box is `step * stored`. */
  step: number;
  stored: Int8Array | Int16Array | Int32Array;
  /** Four edges for each box: first row, row after the last, first column, column after the last. */
  boxes: Uint16Array | null;
  /** Cells of each box that touch the study area; null where every box is one cell. */
  cells: Int32Array | Uint8Array | Uint16Array | Uint32Array | null;
  noise: Noise[];
  noiseIndex: Uint8Array | null;
  /** Half-width of the interval of the factor that counts were scaled by, as a share of it. */
  spread?: number;
};

/** Points in degrees, with or without values; where there are very many, a sample. */
export type PointLayer = Named & {
  shape: "points";
  /** How many points the release holds; `positions` may hold fewer. */
  of: number;
  /** Longitude and latitude of each, in parts of a degree. */
  positions: Int32Array;
  partsOfDegree: number;
  /** The value of each is `step * stored`. */
  step: number;
  stored: Int8Array | Int16Array | Int32Array | null;
  margins: Float32Array | null;
  /** What the noise of an empty count seldom reaches. */
  thresholds: Float32Array | null;
  names: string[] | null;
  /** The best and the worst rank that each may have, 1 the largest count; null where counts are not ranked. */
  ranks?: [Int32Array, Int32Array] | null;
};

export function positionOf({ positions, partsOfDegree }: PointLayer, index: number): Degrees {
  return {
    longitude: positions[2 * index]! / partsOfDegree,
    latitude: positions[2 * index + 1]! / partsOfDegree,
  };
}

/** Polygons or lines in a GeoJSON file of the release; `file` is null where they are too many to draw. */
export type ShapeLayer = Named & { shape: "shapes"; length: number; file: string | null };

export type Layer = BoxLayer | PointLayer | ShapeLayer;

/** A slice's title in the reader's language. */
export function sliceTitle({ title, of_value: value, of_time: time }: Layer): string {
  return [value, time].filter(Boolean).map((part) => t(part!)).join(", ") || t(title);
}

/** What counts are a number of, in English: one place's, and a sum over several. */
export type Nouns = { one: string; sum: string };

export type ReleaseArray = {
  /** The grid of the layers of cells and boxes; null where there is no such layer. */
  grid: Grid | null;
  /** Bounds of the study area. */
  bounds: Bounds;
  area: Polygon | MultiPolygon;
  counting: "people" | "visits";
  nouns: Nouns;
  inside: Uint8Array | null;
  layers: Layer[];
};

/** Thrown for a file that cannot be read; the message is for the reader. */
export class UnreadableArray extends Error {}

const VERSION = 1;
const TYPES = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
} as const;

type TypeName = keyof typeof TYPES;
export type Reference = { type: TypeName; offset: number; length: number };
type RawBoxes = Omit<BoxLayer, "stored" | "boxes" | "cells" | "noiseIndex"> & {
  length: number;
  value: Reference;
  box: Reference | null;
  cells: Reference | null;
  noise_index: Reference | null;
};
type RawPoints = Named & {
  shape: "points";
  length: number;
  of: number;
  degree: number;
  position: Reference;
  step: number;
  value: Reference | null;
  margin: Reference | null;
  threshold: Reference | null;
  names: string[] | null;
  ranks?: [Reference, Reference] | null;
};
type RawLayer = RawBoxes | RawPoints | ShapeLayer;
type Header = Omit<ReleaseArray, "bounds" | "inside" | "layers"> & {
  inside: Reference | null;
  layers: RawLayer[];
};

/** More cells take more memory than a page has in a browser. */
const MOST_CELLS = 4096 * 4096;

export function decodeReleaseArray(file: ArrayBuffer): ReleaseArray {
  const { header, data } = readHeader(file);
  const { grid } = header;
  check(grid === null || isGrid(grid), "its grid is not one");
  const size = grid ? grid.rows * grid.columns : 0;
  if (size > MOST_CELLS) {
    throw new UnreadableArray(
      t("This map has too many cells to be drawn in a browser. Use its files or its table."),
    );
  }
  const read = (reference: Reference, length: number) => readArray(file, data, reference, length);
  check(Array.isArray(header.layers) && header.layers.length > 0, "it holds no layer");
  return {
    grid,
    bounds: readBounds(header.area),
    area: header.area,
    counting: header.counting,
    nouns: header.nouns,
    inside: header.inside && asType(read(header.inside, size), Uint8Array),
    layers: header.layers.map((layer) => readLayer(layer, grid, read)),
  };
}

/** Words for the counts of a map that is not drawn yet. */
export function plainNouns(counting: ReleaseArray["counting"]): Nouns {
  return counting === "people" ? { one: "people", sum: "sightings" } : { one: "visits", sum: "visits" };
}

export function readHeader(file: ArrayBuffer): { header: Header; data: number } {
  check(file.byteLength >= 12, "it is cut short");
  const view = new DataView(file);
  check(view.getUint32(0, false) === 0x4450474d, "it does not start with DPGM");
  const version = view.getUint32(4, true);
  check(version === VERSION, `it is of version ${version}, this page knows ${VERSION}`);
  const data = 12 + view.getUint32(8, true);
  check(data <= file.byteLength && data % 8 === 0, "its header is cut short");
  try {
    return { header: JSON.parse(new TextDecoder().decode(new Uint8Array(file, 12, data - 12))), data };
  } catch {
    throw unreadable("its header is not JSON");
  }
}

function readBounds(area: Header["area"]): Bounds {
  check(area?.type === "Polygon" || area?.type === "MultiPolygon", "its study area is no polygon");
  const bounds = boundsOfArea(area);
  check(bounds.every(Number.isFinite), "its study area is empty");
  return bounds;
}

type Read = (reference: Reference, length: number) => InstanceType<(typeof TYPES)[TypeName]>;

function readLayer(layer: RawLayer, grid: Grid | null, read: Read): Layer {
  if (layer.shape === "shapes") return layer;
  if (layer.shape === "points") return readPoints(layer, read);
  check(layer.shape === "cells" || layer.shape === "boxes", `layer ${(layer as Named).name} is of an unknown shape`);
  check(grid !== null, `layer ${layer.name} has no grid`);
  return readCounts(layer, grid, read);
}

function readPoints(layer: RawPoints, read: Read): PointLayer {
  const { name, title, kind, shape, length, of, step, value, margin, threshold, names } = layer;
  check(layer.degree > 0 && step > 0, `layer ${name} has no step`);
  return {
    name, title, kind, shape, of, step, names,
    ...(layer.slice ? { slice: true, of_value: layer.of_value ?? "", of_time: layer.of_time ?? "" } : {}),
    partsOfDegree: layer.degree,
    positions: asType(read(layer.position, 2 * length), Int32Array),
    stored: value && (read(value, length) as PointLayer["stored"]),
    margins: margin && asType(read(margin, length), Float32Array),
    thresholds: threshold && asType(read(threshold, length), Float32Array),
    ranks: layer.ranks ? [asType(read(layer.ranks[0], length), Int32Array), asType(read(layer.ranks[1], length), Int32Array)] : null,
  };
}

function readCounts(layer: RawBoxes, grid: Grid, read: Read): BoxLayer {
  const { length } = layer;
  if (layer.shape === "cells") {
    check(length === grid.rows * grid.columns, `layer ${layer.name} does not cover its grid`);
  }
  check(layer.step > 0, `layer ${layer.name} has no step`);
  check(Array.isArray(layer.noise) && layer.noise.length > 0, `layer ${layer.name} has no noise`);
  const stored = read(layer.value, length);
  check(
    stored instanceof Int8Array || stored instanceof Int16Array || stored instanceof Int32Array,
    `layer ${layer.name} holds counts without a sign`,
  );
  const noiseIndex = layer.noise_index && asType(read(layer.noise_index, length), Uint8Array);
  check(
    !noiseIndex || noiseIndex.every((index) => index < layer.noise.length),
    `layer ${layer.name} names noise it does not describe`,
  );
  return {
    name: layer.name,
    title: layer.title,
    kind: layer.kind,
    ...(layer.slice === true ? { slice: true, of_value: layer.of_value ?? "", of_time: layer.of_time ?? "" } : {}),
    shape: layer.shape,
    step: layer.step,
    stored,
    boxes: layer.shape === "boxes" ? readBoxes(layer, grid, read) : null,
    cells: layer.cells && (read(layer.cells, length) as Uint32Array),
    noise: layer.noise,
    noiseIndex,
  };
}

function readBoxes(layer: RawBoxes, grid: Grid, read: Read): Uint16Array {
  check(layer.box !== null, `layer ${layer.name} has no boxes`);
  const boxes = asType(read(layer.box, 4 * layer.length), Uint16Array);
  for (let i = 0; i < boxes.length; i += 4) {
    const [top, bottom, left, right] = boxes.subarray(i, i + 4) as unknown as number[];
    check(
      top! < bottom! && bottom! <= grid.rows && left! < right! && right! <= grid.columns,
      `layer ${layer.name} has a box outside its grid`,
    );
  }
  return boxes;
}

export function readArray(file: ArrayBuffer, data: number, reference: Reference, length: number) {
  const type = TYPES[reference.type];
  check(type !== undefined, `it holds numbers of an unknown type, ${reference.type}`);
  const start = data + reference.offset;
  check(
    reference.length === length &&
      Number.isInteger(reference.offset) &&
      reference.offset >= 0 &&
      reference.offset % type.BYTES_PER_ELEMENT === 0 &&
      start + length * type.BYTES_PER_ELEMENT <= file.byteLength,
    "an array lies outside of it",
  );
  return new type(file, start, length);
}

function asType<T>(array: unknown, type: new (...rest: never[]) => T): T {
  check(array instanceof type, "an array is of the wrong type");
  return array;
}

function isGrid(grid: Grid | undefined): grid is Grid {
  return (
    grid !== undefined &&
    [grid.west, grid.north].every(Number.isFinite) &&
    grid.cell > 0 &&
    [grid.columns, grid.rows].every((side) => Number.isInteger(side) && side > 0 && side <= 65535)
  );
}

function check(holds: boolean, fault: string): asserts holds {
  if (!holds) throw unreadable(fault);
}

/** Of a damaged file; the fault is for whoever repairs it, in English. */
function unreadable(fault: string): UnreadableArray {
  return new UnreadableArray(t("The map's data cannot be read ({fault}). Use its table and files.", { fault }));
}
