/** The box that finds places and streets by name, and moves the map there. */
import type { Map as MapLibre } from "maplibre-gl";
import type { Bounds } from "../geometry/place";
import { need } from "../ui/dom";
import { t } from "../ui/translate";

const PAUSE = 150;
const CLOSEST = 15.5;

export type FoundPlace = { name: string; kind: string; within: string; box: Bounds };

/** Shows the box where the page has one. Nothing that is typed leaves this site. */
export function installFindPlace(frame: HTMLElement, map: Pick<MapLibre, "fitBounds">): void {
  const form = frame.querySelector<HTMLFormElement>("form.find");
  if (form) new FindPlace(form, map);
}

/** What a place is called in the list: names that several places have are told apart. */
export function labelOf(place: FoundPlace): string {
  return `${place.name}, ${place.within ? `${place.kind}, ${place.within}` : place.kind}`;
}

class FindPlace {
  private readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private readonly status: HTMLElement;
  private found: FoundPlace[] = [];
  private asked = "";
  private timer = 0;

  constructor(
    private readonly form: HTMLFormElement,
    private readonly map: Pick<MapLibre, "fitBounds">,
  ) {
    this.input = need(form, "input");
    this.list = need(form, "datalist");
    this.status = need(form, "[role=status]");
    form.hidden = false;
    this.input.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      // A choice from the list arrives as input, too.
      if (this.found.some((place) => labelOf(place) === this.input.value)) void this.go();
      else this.timer = window.setTimeout(() => void this.ask(), PAUSE);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      window.clearTimeout(this.timer);
      void this.go();
    });
  }

  private async ask(): Promise<void> {
    const text = this.input.value.trim();
    if (text === this.asked) return;
    this.asked = text;
    const response = text ? await fetch(`${this.form.action}?q=${encodeURIComponent(text)}`).catch(() => null) : null;
    const places = response?.ok ? ((await response.json()) as { places: FoundPlace[] }).places : [];
    if (text !== this.asked) return;
    this.found = places;
    this.list.replaceChildren(
      ...places.map((place) => Object.assign(document.createElement("option"), { value: labelOf(place) })),
    );
  }

  /** Moves to the chosen place, or to the first that was found. */
  private async go(): Promise<void> {
    const chosen = (): FoundPlace | undefined => this.found.find((place) => labelOf(place) === this.input.value);
    if (!chosen()) await this.ask();
    const place = chosen() ?? this.found[0];
    this.input.setAttribute("aria-invalid", String(!place && this.input.value.trim() !== ""));
    this.status.textContent = place
      ? t("The map shows {name}.", { name: labelOf(place) })
      : this.input.value.trim() && t("No place is known by this name.");
    if (!place) return;
    const [west, south, east, north] = place.box;
    this.map.fitBounds([west, south, east, north], { maxZoom: CLOSEST, padding: 60, animate: false });
  }
}
