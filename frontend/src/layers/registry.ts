/** The kinds of layers: one line each. All but the heatmap are fetched when a page needs them. */
import type { Layer, ReleaseArray } from "../data/release-array";
import type { Scene } from "../data/scene";
import { load as loadHeatmap } from "./heatmap/heatmap";
import type { LoadLayer, MapLayer } from "./map-layer";

const LOOKS: Record<string, () => Promise<{ load: LoadLayer }>> = {
  heatmap: () => Promise.resolve({ load: loadHeatmap }),
  zones: () => import("./zones/zones"),
  clusters: () => import("./clusters/clusters"),
  contours: () => import("./contours/contours"),
  points: () => import("./points/points"),
};

/** How a layer is drawn where the page does not say (`dpgeo.pages.release_summary.LayerName.look`). */
const USUAL: Record<Layer["shape"], string> = {
  cells: "heatmap",
  boxes: "heatmap",
  shapes: "zones",
  points: "points",
};

/** What draws a layer. Raises an Error for the reader where nothing can. */
export async function loadLayer(
  layer: Layer,
  release: ReleaseArray,
  scene: Scene,
  looks: Record<string, string> = {},
): Promise<MapLayer> {
  const look = LOOKS[looks[layer.name] ?? USUAL[layer.shape]];
  if (!look) throw new Error(`There is no way to draw the layer ${layer.name}.`);
  return (await look()).load(layer, release, scene);
}
