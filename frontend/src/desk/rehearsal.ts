/** Rehearsal of a release before it is paid: public or invented counts with simulated noise. */
import { drawStaticMap } from "../canvas/static-map";
import { onThemeChange, readPalette } from "../colour/ramps";
import { gaussianNoise, INVENTED_HOODS, noise } from "../data/invented-town";
import { fetchArray } from "../data/open-release";
import { plainNouns, type ReleaseArray } from "../data/release-array";
import type { Ground } from "../data/scene";
import { Surface } from "../data/surface";
import type { Grid } from "../geometry/grid";
import { landMask } from "../layers/heatmap/cell-picture";
import { Heatmap } from "../layers/heatmap/heatmap";
import { PLAIN_STYLE } from "../layers/map-layer";
import { formatNumber } from "../ui/format";
import { t } from "../ui/translate";

type Plan = {
  grid: Grid;
  /** Epsilon over sensitivity, of Laplace noise. */
  rate?: number;
  /** Standard deviation of Gaussian noise. */
  deviation?: number;
  margin: number;
  threshold: number;
  counting: ReleaseArray["counting"];
  people: number;
};

/** Fetched files by address, so that typing fetches nothing twice. */
const fetched = new Map<string, Promise<unknown>>();
let redraw: (() => void) | null = null;

/** Draws the rehearsal of the quote that is shown, with fresh noise. Throws where it cannot. */
export async function rehearse(figure: HTMLElement): Promise<void> {
  const plan = JSON.parse(figure.dataset.rehearsal!) as Plan;
  const { ground: groundUrl, last } = figure.dataset;
  const [ground, shown] = await Promise.all([
    once(groundUrl!, fetchGround),
    last ? once(last, publicSurface).catch(() => null) : null,
  ]);
  const inside = insideOf(ground, plan.grid);
  const counts = shown ? publicCounts(shown, plan.grid) : inventedCounts(plan, inside);
  const surface = noisySurface(plan, counts, inside);
  const heatmap = new Heatmap(surface, { ...ground, counting: plan.counting, nouns: plainNouns(plan.counting), urlOf: String });
  const canvas = figure.querySelector("canvas")!;
  figure.querySelector<HTMLElement>(`[data-of=${shown ? "public" : "invented"}]`)!.hidden = false;
  figure.hidden = false;
  // It replaces the plain outline, which is for browsers without scripts.
  figure.parentElement?.querySelector("figure.area")?.remove();
  sayShare(figure, surface);
  if (!redraw) follow();
  redraw = (): void => {
    const palette = readPalette(canvas);
    heatmap.restyle(PLAIN_STYLE, palette);
    drawStaticMap(canvas, ground, heatmap, palette);
  };
  redraw();
  figure.dataset.state = "drawn";
}

/** Draws again, with the same noise, whenever the theme or the size changes. */
function follow(): void {
  onThemeChange(() => redraw?.());
  addEventListener("resize", () => redraw?.());
}

function once<T>(url: string, fetchIt: (url: string) => Promise<T>): Promise<T> {
  const known = fetched.get(url) ?? fetchIt(url);
  fetched.set(url, known);
  known.catch(() => fetched.delete(url));
  return known as Promise<T>;
}

async function fetchGround(url: string): Promise<Ground> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(t("The outlines did not load ({status}).", { status: response.status }));
  return (await response.json()) as Ground;
}

async function publicSurface(url: string): Promise<Surface> {
  const { grid, inside, layers } = await fetchArray(url);
  const layer = layers.find((each) => each.shape === "cells" || each.shape === "boxes");
  if (!grid || !layer || !("noise" in layer)) throw new Error(t("The earlier map has no counts of cells."));
  return new Surface(grid, inside, layer);
}

/** Marks the cells whose middle lies inside the study area. */
function insideOf({ area }: Ground, { west, north, cell, columns, rows }: Grid): Uint8Array {
  const place = { west, north, perPixel: cell, width: columns, height: rows };
  const mask = landMask(area, place, 1);
  return Uint8Array.from({ length: columns * rows }, (_, at) => (mask[4 * at + 3]! > 127 ? 1 : 0));
}

/**
 * Counts of a public map in the cells of another grid. Counts below the threshold are left out, or
 * the map's noise would be added to the simulated one.
 */
export function publicCounts(shown: Surface, grid: Grid): Float64Array {
  const ratio = (grid.cell / shown.grid.cell) ** 2;
  const fine = Math.max(1, Math.ceil(grid.cell / shown.grid.cell));
  return Float64Array.from({ length: grid.rows * grid.columns }, (_, at) => {
    const [row, column] = [Math.floor(at / grid.columns), at % grid.columns];
    let sum = 0;
    for (let part = 0; part < fine * fine; part++) {
      const across = column + ((part % fine) + 0.5) / fine;
      const down = row + (Math.floor(part / fine) + 0.5) / fine;
      const box = shown.at(
        Math.floor((shown.grid.north - grid.north + down * grid.cell) / shown.grid.cell),
        Math.floor((grid.west - shown.grid.west + across * grid.cell) / shown.grid.cell),
      );
      if (box >= 0 && shown.standsOut(box)) sum += shown.density(box);
    }
    return (sum * ratio) / fine ** 2;
  });
}

/** Invented counts: `people` persons, crowded in a few neighbourhoods of the study area. */
export function inventedCounts(
  { grid: { rows, columns }, people }: Pick<Plan, "grid" | "people">,
  inside: Uint8Array,
): Float64Array {
  const crowd = Float64Array.from(inside, (within, at) => {
    const x = ((at % columns) + 0.5) / columns;
    const y = (Math.floor(at / columns) + 0.5) / rows;
    return within * INVENTED_HOODS.reduce((sum, hood) => {
      const away = ((x - hood.x) ** 2 + (y - hood.y) ** 2) / hood.wide ** 2;
      return sum + hood.people * Math.exp(-away / 2);
    }, 0);
  });
  const all = crowd.reduce((sum, each) => sum + each, 0) || 1;
  return crowd.map((each) => (each * people) / all);
}

function noisySurface(plan: Plan, counts: Float64Array, inside: Uint8Array): Surface {
  // Math.random serves for a picture; the server draws published noise with an exact sampler.
  const { margin, threshold, deviation, rate = Infinity } = plan;
  const draw = (): number => (deviation ? gaussianNoise(deviation, Math.random) : noise(rate, Math.random));
  const stored = Int32Array.from(counts, (count, at) => (inside[at] ? Math.floor(count + Math.random()) + draw() : 0));
  return new Surface(plan.grid, inside, {
    ...{ name: "rehearsal", title: "", kind: "measured", shape: "cells", step: 1, stored },
    ...{ boxes: null, cells: null, noise: [{ margin, threshold, label: "" }], noiseIndex: null },
  });
}

function sayShare(figure: HTMLElement, surface: Surface): void {
  const cells = [...surface.visible()];
  const standing = cells.filter((cell) => surface.standsOut(cell)).length;
  figure.querySelector("[data-standing]")!.textContent = formatNumber(standing);
  figure.querySelector("[data-cells]")!.textContent = formatNumber(cells.length);
  figure.querySelector<HTMLElement>("[data-share]")!.hidden = false;
}
