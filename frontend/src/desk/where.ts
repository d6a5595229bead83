/** The box for the name of a place: names to choose from, and the chosen outline on the map. */
import type { AreaShape } from "../geometry/area-shape";
import { Combobox } from "../ui/combobox";
import { need } from "../ui/dom";
import { t } from "../ui/translate";

const PAUSE = 150;

type Outlined = { name: string; kind: string; area: AreaShape; words: string };

export function installWhere(page: Document): void {
  const form = page.querySelector<HTMLFormElement>("form[data-where]");
  if (form) new PlaceBox(form);
}

class PlaceBox {
  private readonly input: HTMLInputElement;
  private readonly options: Combobox;
  private readonly button: HTMLButtonElement;
  private readonly label: string;
  /** Says so where a square stands for a boundary that is not known. */
  private readonly square: HTMLElement;
  private timer = 0;
  /** The name whose outline is shown or on its way; answers for another one come too late. */
  private shown = "";

  constructor(private readonly form: HTMLFormElement) {
    this.input = need(form, "[name=place]");
    const offered = [...form.querySelectorAll<HTMLOptionElement>("#places option")].map(({ value }) => value);
    this.options = new Combobox(this.input, this.input.labels?.[0]?.textContent ?? "", () => void this.show());
    if (offered.length) this.options.offer(offered);
    this.button = need(form, "button[type=submit]");
    this.label = this.button.textContent;
    this.square = need(form, "[data-square]");
    this.input.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.suggest(), PAUSE);
    });
    this.input.addEventListener("change", () => void this.show());
    form.addEventListener("drawn", () => {
      this.input.value = this.shown = "";
      this.button.textContent = this.label;
      this.square.hidden = true;
    });
    if (this.input.value) void this.show();
  }

  private async suggest(): Promise<void> {
    const text = this.input.value.trim();
    const names = text ? await ask<{ places: string[] }>(`${this.form.dataset.suggest}?q=${encodeURIComponent(text)}`) : null;
    if (text !== this.input.value.trim()) return;
    this.options.offer(names?.places ?? []);
    // A name may be typed in full; the server knows whether it will do.
    await this.show();
  }

  /** Shows the outline of the place; an unknown name shows none, and the server says so. */
  private async show(): Promise<void> {
    const text = this.input.value.trim();
    if (text === this.shown) return;
    this.shown = text;
    const place = text ? await ask<Outlined>(`${this.form.dataset.place}?name=${encodeURIComponent(text)}`) : null;
    if (text !== this.shown) return;
    this.button.textContent = place ? t("Use {name}", { name: place.name }) : this.label;
    this.square.textContent = place?.words ?? "";
    this.square.hidden = !place?.words;
    this.form.dispatchEvent(new CustomEvent("place", { detail: place?.area ?? null }));
  }
}

async function ask<T>(url: string): Promise<T | null> {
  const response = await fetch(url).catch(() => null);
  return response?.ok ? ((await response.json()) as T) : null;
}
