/** The box that finds places and streets by name, and moves the map there. */
import type { Map as MapLibre } from "maplibre-gl";
import type { Bounds } from "../geometry/place";
import { Combobox } from "../ui/combobox";
import { need } from "../ui/dom";
import { t } from "../ui/translate";

const PAUSE = 150;
const CLOSEST = 15.5;

export type FoundPlace = { name: string; kind: string; within: string; box: Bounds };

type Searched = Pick<MapLibre, "fitBounds" | "getMaxBounds">;

/** Shows the box where the page has one. Nothing that is typed leaves this site. */
export function installFindPlace(frame: HTMLElement, map: Searched): void {
  const form = frame.querySelector<HTMLFormElement>("form.find");
  if (form) new FindPlace(form, map);
}

/** What a place is called in the list: names that several places have are told apart. */
export function labelOf(place: FoundPlace): string {
  return `${place.name}, ${place.within ? `${place.kind}, ${place.within}` : place.kind}`;
}

/** The box: what is typed asks for places, and choosing one goes there. */
class FindPlace {
  private readonly input: HTMLInputElement;
  private readonly options: Combobox;
  private found: FoundPlace[] = [];
  private shown: FoundPlace | undefined;
  private asked = "";
  private timer = 0;

  constructor(
    private readonly form: HTMLFormElement,
    private readonly map: Searched,
  ) {
    this.input = need(form, "input");
    this.options = new Combobox(this.input, t("Places found"), (number) => this.show(this.found[number]));
    form.hidden = false;
    this.input.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.ask(), PAUSE);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      window.clearTimeout(this.timer);
      void this.go();
    });
  }

  private async ask(): Promise<void> {
    const text = this.input.value.trim();
    if (text === this.asked) return this.offer();
    this.asked = text;
    const response = text ? await fetch(this.address(text)).catch(() => null) : null;
    const places = response?.ok ? ((await response.json()) as { places: FoundPlace[] }).places : [];
    if (text !== this.asked) return;
    this.found = places;
    this.offer();
  }

  /** Only what the map can move to is searched for. */
  private address(text: string): string {
    const sides = this.map.getMaxBounds()?.toArray().flat() ?? [];
    const box = sides.length ? `&box=${sides.map((each) => each.toFixed(2)).join(",")}` : "";
    return `${this.form.action}?q=${encodeURIComponent(text)}${box}`;
  }

  private offer(): void {
    this.options.offer(this.found.map(labelOf));
  }

  /** Moves to the place that was chosen before, or to the first that is found. */
  private async go(): Promise<void> {
    const again = this.shown && labelOf(this.shown) === this.input.value ? this.shown : undefined;
    if (!again) await this.ask();
    this.show(again ?? (this.input.value.trim() ? this.found[0] : undefined));
  }

  private show(place: FoundPlace | undefined): void {
    this.options.close();
    const typed = this.input.value.trim();
    this.input.setAttribute("aria-invalid", String(!place && typed !== ""));
    const none = typed && t("No place is known by this name.");
    this.options.say(place ? t("The map shows {name}.", { name: labelOf(place) }) : none);
    this.shown = place;
    if (!place) return;
    this.input.value = this.asked = labelOf(place);
    const [west, south, east, north] = place.box;
    this.map.fitBounds([west, south, east, north], { maxZoom: CLOSEST, padding: 60, animate: false });
  }
}
