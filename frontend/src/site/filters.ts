/** Folds the catalogue's filters on narrow screens, where they would push the maps down. */
const NARROW = "(max-width: 960px)";

export function foldFilters(page: Document): void {
  const filters = page.querySelector<HTMLDetailsElement>(".filters [data-fold]");
  if (filters && matchMedia(NARROW).matches) filters.open = false;
}
