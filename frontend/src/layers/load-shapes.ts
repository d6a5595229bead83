/** The shapes of a layer, from the GeoJSON file of the release that holds them. */
import type { Feature, Geometry } from "geojson";
import { fetchShapes } from "../data/fetching";
import type { Layer } from "../data/release-array";
import type { Scene } from "../data/scene";
import { t } from "../ui/translate";

/** Throws an Error whose message is for the reader where there are too many shapes to draw. */
export async function loadShapes<Properties>(layer: Layer, scene: Scene): Promise<Feature<Geometry, Properties>[]> {
  if (layer.shape !== "shapes") throw new Error(`The layer ${layer.name} has no shapes.`);
  if (!layer.file) throw new Error(t("There are too many shapes to draw here. Use the files."));
  return fetchShapes<Properties>(scene.urlOf(layer.file));
}
