/** Writes small `map.bin` files for tests, with the layout of `release-array.ts`. */

type Layout = Record<string, unknown>;

export function encode(header: Layout, data: ArrayBufferView[], version = 1): ArrayBuffer {
  let text = JSON.stringify(header);
  text += " ".repeat((8 - ((12 + text.length) % 8)) % 8);
  const size = data.reduce((sum, part) => sum + Math.ceil(part.byteLength / 8) * 8, 0);
  const file = new ArrayBuffer(12 + text.length + size);
  const view = new DataView(file);
  view.setUint32(0, 0x4450474d, false);
  view.setUint32(4, version, true);
  view.setUint32(8, text.length, true);
  const bytes = new Uint8Array(file);
  bytes.set(new TextEncoder().encode(text), 12);
  let at = 12 + text.length;
  for (const part of data) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += Math.ceil(part.byteLength / 8) * 8;
  }
  return file;
}

export const grid = { west: 0, north: 4000, cell: 1000, columns: 4, rows: 4 };
const area = {
  type: "Polygon",
  coordinates: [[[0, 0], [0.036, 0], [0.036, 0.036], [0, 0.036], [0, 0]]],
};
const noise = [{ margin: 12, threshold: 26, label: "exact noise" }];

/** Sixteen cells 0, 10, 20 ... 150 of which the first lies outside the study area. */
export function cellsFile(change: Layout = {}, layer: Layout = {}): ArrayBuffer {
  const stored = Int8Array.from({ length: 16 }, (_, cell) => 5 * cell);
  const inside = Uint8Array.from({ length: 16 }, (_, cell) => Number(cell > 0));
  const header = {
    grid,
    bounds: [0, 0, 0.036, 0.036],
    area,
    counting: "people",
    inside: { type: "uint8", offset: 16, length: 16 },
    layers: [
      {
        name: "cells", title: "Counts of cells", kind: "measured", shape: "cells", length: 16, step: 2,
        value: { type: "int8", offset: 0, length: 16 }, box: null, cells: null, noise, noise_index: null,
        ...layer,
      },
    ],
    ...change,
  };
  return encode(header, [stored, inside]);
}

/** The left half as one box of 8 cells, the right half as two boxes of 4. */
export function boxesFile(boxes = [0, 4, 0, 2, 0, 2, 2, 4, 2, 4, 2, 4]): ArrayBuffer {
  const header = {
    grid, bounds: [0, 0, 0.036, 0.036], area, counting: "visits", inside: null,
    layers: [
      {
        name: "partitions", title: "Counts of partitions", kind: "measured", shape: "boxes", length: 3, step: 1,
        value: { type: "int16", offset: 0, length: 3 },
        box: { type: "uint16", offset: 8, length: 12 },
        cells: { type: "int32", offset: 32, length: 3 },
        noise, noise_index: null,
      },
    ],
  };
  return encode(header, [Int16Array.of(800, -3, 40), Uint16Array.from(boxes), Int32Array.of(8, 4, 4)]);
}

/** Two points with values, and shapes in a file of their own; no grid. */
export function mixedFile(): ArrayBuffer {
  const header = {
    grid: null, bounds: [0, 0, 0.036, 0.036], area, counting: "people", inside: null,
    layers: [
      {
        name: "centres", title: "Centres", kind: "measured", shape: "points", length: 2, of: 2,
        degree: 10_000_000, position: { type: "int32", offset: 0, length: 4 }, step: 1,
        value: { type: "int8", offset: 16, length: 2 }, margin: null, threshold: null, names: null,
      },
      {
        name: "zones", title: "Zones", kind: "measured", shape: "shapes", length: 3,
        file: "zones.geojson",
      },
    ],
  };
  return encode(header, [Int32Array.of(100_000_000, 500_000_000, -1, 2), Int8Array.of(7, -2)]);
}
