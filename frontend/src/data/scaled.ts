/** Counts of squares scaled to a total of all the data, as the page's choice of figures states it. */
import type { OpenRelease } from "./open-release";
import type { Layer } from "./release-array";

/** `spread` is the half-width of the factor's interval as a share of the factor. */
export type Scaling = { factor: number; spread: number; noun: string };

/** Reads the choice between counts as counted and scaled ones; null where the map cannot be scaled. */
export function readScaling(): Scaling | null {
  const offered = document.querySelector<HTMLElement>("[data-choose=figures]");
  if (!offered) return null;
  const { scaling, noun } = offered.dataset;
  return { ...(JSON.parse(scaling!) as Omit<Scaling, "noun">), noun: noun! };
}

/** The release with every count, margin and threshold multiplied; margins hold the factor's noise too. */
export function scaleRelease({ release, scene }: OpenRelease, { factor, spread, noun }: Scaling): OpenRelease {
  const nouns = { one: noun, sum: noun };
  const layers = release.layers.map((layer) => scaleLayer(layer, factor, spread));
  return { release: { ...release, nouns, layers }, scene: { ...scene, nouns } };
}

function scaleLayer(layer: Layer, factor: number, spread: number): Layer {
  if (layer.shape !== "cells" && layer.shape !== "boxes") return layer;
  const noise = layer.noise.map(({ margin, threshold, label }) => ({
    margin: factor * margin,
    threshold: factor * threshold,
    label,
  }));
  return { ...layer, step: factor * layer.step, noise, spread };
}

/** The page's opening view, as text, with the edges of its classes multiplied. */
export function scaleOpening(text: string, { factor }: Scaling): string {
  const opening = JSON.parse(text) as { edges?: Record<string, number[]> };
  const edges = Object.entries(opening.edges ?? {}).map(([name, each]) => [name, each.map((edge) => factor * edge)]);
  return JSON.stringify({ ...opening, edges: Object.fromEntries(edges) });
}
