/** What the page says of the layer that the map shows: its legend, and the ranked list of its places. */
import type { MapLayer } from "../layers/map-layer";
import { drawLegend, factsOf } from "../map/legend";
import { need } from "../ui/dom";

export function describe(frame: HTMLElement, layer: MapLayer): void {
  drawLegend(need(frame, ".legend"), layer.legend(), factsOf(frame));
  showPlaceList(layer.name);
}

/** Shows the list that belongs to a layer, where the page has one, and hides the others. */
function showPlaceList(layer: string): void {
  const lists = [...document.querySelectorAll<HTMLElement>("[data-places]")];
  if (!lists.some(({ dataset }) => dataset.places === layer)) return;
  for (const list of lists) list.hidden = list.dataset.places !== layer;
}
