import { describe, expect, it } from "vitest";
import { INVENTED_HOODS } from "../data/invented-town";
import { Surface } from "../data/surface";
import { inventedCounts, publicCounts } from "./rehearsal";

const grid = { west: 0, north: 800, cell: 100, columns: 8, rows: 8 };
const everywhere = new Uint8Array(64).fill(1);

function shown(stored: Int32Array): Surface {
  return new Surface(grid, everywhere, {
    ...{ name: "counts", title: "", kind: "measured", shape: "cells", step: 1, stored },
    ...{ boxes: null, cells: null, noiseIndex: null },
    noise: [{ margin: 6, threshold: 10, label: "" }],
  });
}

describe("the rehearsal", () => {
  it("invents as many people as it says, inside the study area alone", () => {
    const half = everywhere.map((_, cell) => (cell % 8 < 4 ? 1 : 0));
    const counts = inventedCounts({ grid, people: 1000 }, half);
    expect(counts.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1000);
    expect(counts.every((count, cell) => half[cell] || count === 0)).toBe(true);
    expect(INVENTED_HOODS.every(({ x, y }) => x > 0 && x < 1 && y > 0 && y < 1)).toBe(true);
  });

  it("takes public counts that stood out, and no noise of those that did not", () => {
    const stored = new Int32Array(64).fill(9);
    stored[9] = 40;
    const counts = publicCounts(shown(stored), grid);
    expect(counts[9]).toBe(40);
    expect(counts.filter((count) => count > 0)).toHaveLength(1);
  });

  it.each([4, 16])("spreads them over a grid of %i cells without losing any", (across) => {
    const stored = new Int32Array(64).fill(32);
    const other = { ...grid, cell: 800 / across, columns: across, rows: across };
    const counts = publicCounts(shown(stored), other);
    expect(counts.reduce((sum, each) => sum + each, 0)).toBeCloseTo(64 * 32);
  });
});
