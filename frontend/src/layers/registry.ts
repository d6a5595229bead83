/** Registry of the kinds of layers, one line each. All but the heatmap are loaded when needed. */
import type { Layer, ReleaseArray } from "../data/release-array";
import type { Scene } from "../data/scene";
import { load as loadHeatmap } from "./heatmap/heatmap";
import type { LoadLayer, MapLayer } from "./map-layer";

const LOOKS: Record<string, () => Promise<{ load: LoadLayer }>> = {
  heatmap: () => Promise.resolve({ load: loadHeatmap }),
  zones: () => import("./zones/zones"),
  averages: () => import("./averages/averages"),
  quartiles: () => import("./averages/quartiles"),
  places: () => import("./places/places"),
  clusters: () => import("./clusters/clusters"),
  departures: () => import("./zones/zones"),
  arrivals: () => import("./zones/zones"),
  flows: () => import("./flows/flows"),
  moves: () => import("./trips/trips"),
  trips: () => import("./trips/trips"),
  contours: () => import("./contours/contours"),
  points: () => import("./points/points"),
};

/** The kind that draws a layer where the page names none (`dpgeo.pages.release_summary.LayerName.look`). */
const USUAL: Record<Layer["shape"], string> = {
  cells: "heatmap",
  boxes: "heatmap",
  shapes: "zones",
  points: "points",
};

/** Loads what draws a layer. Throws an Error where no kind can. */
export async function loadLayer(
  layer: Layer,
  release: ReleaseArray,
  scene: Scene,
  looks: Looks = {},
): Promise<MapLayer> {
  const look = LOOKS[looks[layer.name] ?? USUAL[layer.shape]];
  if (!look) throw new Error(`There is no way to draw the layer ${layer.name}.`);
  return (await look()).load(layer, release, scene);
}

/** The kind that draws each layer, by the layer's name, as pages hold it in JSON. */
export type Looks = Record<string, string>;

export function readLooks(text: string | undefined): Looks {
  return JSON.parse(text ?? "{}") as Looks;
}
