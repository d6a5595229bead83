/** The opening view of a map as its page hands it over; the server chooses it (`dpgeo.postprocess.opening`). */
import type { Layer, ReleaseArray } from "../data/release-array";
import type { Style } from "./map-layer";

export type Opening = {
  /** The name of the layer that the map opens on. */
  layer: string;
  /** Side in metres of the square that counts of boxes are stated for; 0 where there are none. */
  metres: number;
  /** Lower edges of the classes of each layer by its name, in counts per square or per feature. */
  edges: Record<string, number[]>;
  /** The layer that is shown in its place where `shift` metres are well seen; "" for none. */
  dots: string;
  shift: number;
};

const NONE: Opening = { layer: "", metres: 0, edges: {}, dots: "", shift: 0 };

export function readOpening(text: string | undefined): Opening {
  return { ...NONE, ...(JSON.parse(text || "{}") as Partial<Opening>) };
}

export function openingLayer({ layers }: ReleaseArray, opening: Opening): Layer {
  return layers.find(({ name }) => name === opening.layer) ?? layers[0]!;
}

/** The style of a layer in the unit of its map and, unless the reader chose others, with its classes. */
export function openingStyle(style: Style, { metres, edges }: Opening, layer: string): Style {
  const own = edges[layer];
  const stated = metres ? { ...style, metres } : style;
  if (!own?.length || style.show !== "estimate" || style.scale !== "log") return stated;
  return { ...stated, basis: { edges: own, metres: metres || null } };
}

/** Pixels on screen that half of the points are moved by where they are worth showing one by one. */
const CLEAR_SHIFT = 60;

/** The layer to show where the reader chose none; `metres` is a pixel's width on the ground. */
export function layerByZoom({ layer, dots, shift }: Opening, metres: number): string {
  return dots && shift / metres >= CLEAR_SHIFT ? dots : layer;
}
