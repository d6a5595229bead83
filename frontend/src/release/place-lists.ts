/** Ranked lists of places, one for each context: the list of what the map shows. */

/** Shows the list that belongs to a layer, where the page has one, and hides the others. */
export function showPlaceList(layer: string): void {
  const lists = [...document.querySelectorAll<HTMLElement>("[data-places]")];
  if (!lists.some(({ dataset }) => dataset.places === layer)) return;
  for (const list of lists) list.hidden = list.dataset.places !== layer;
}
