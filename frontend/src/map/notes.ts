/** The publisher's notes on a map: numbered pins, and the text of the one that a reader opens. */
import { pixelOf, type Pixel, type Place } from "../geometry/place";
import type { Degrees } from "../geometry/mercator";
import { element } from "../ui/dom";
import { t } from "../ui/translate";

export type Note = Degrees & { text: string };

/** A note with its number, at a pixel of the map. */
export type PlacedNote = Note & Pixel & { number: number };

/** Reads the notes of an element; none where it has none. */
export function readNotes({ dataset }: HTMLElement): Note[] {
  return dataset.notes ? (JSON.parse(dataset.notes) as Note[]) : [];
}

/** The notes whose positions a place shows. */
export function notesOn(place: Place, notes: readonly Note[]): PlacedNote[] {
  return notes
    .map((note, index) => ({ ...note, ...pixelOf(place, note), number: index + 1 }))
    .filter(({ x, y }) => x >= 0 && y >= 0 && x <= place.width && y <= place.height);
}

export class NotePins {
  private readonly pins: HTMLButtonElement[];
  private readonly card = element("div", "flag noted");
  private place: Place | null = null;
  private open: number | null = null;

  constructor(private readonly sheet: HTMLElement, private readonly notes: readonly Note[]) {
    this.card.hidden = true;
    this.card.setAttribute("aria-hidden", "true");
    this.pins = notes.map(({ text }, index) => this.pin(index + 1, text));
    const group = element("div", "pins", ...this.pins);
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", t("Notes on the map"));
    sheet.append(group, this.card);
    sheet.addEventListener("keydown", ({ key }) => key === "Escape" && this.show(null));
  }

  /** Puts the pins where a place shows their positions, and takes away those that it does not. */
  put(place: Place): void {
    this.place = place;
    const shown = new Map(notesOn(place, this.notes).map((note) => [note.number, note]));
    this.pins.forEach((pin, index) => {
      const note = shown.get(index + 1);
      pin.hidden = !note;
      if (note) pin.style.transform = `translate(${Math.round(note.x)}px, ${Math.round(note.y)}px) translate(-50%, -50%)`;
    });
    this.show(this.open && shown.has(this.open) ? this.open : null);
  }

  private pin(number: number, text: string): HTMLButtonElement {
    const pin = element("button", "pin", element("span", "", String(number)));
    pin.type = "button";
    pin.setAttribute("aria-label", t("Note {number}: {text}", { number, text }));
    pin.addEventListener("click", () => this.show(this.open === number ? null : number));
    pin.addEventListener("blur", () => this.open === number && this.show(null));
    return pin;
  }

  private show(number: number | null): void {
    this.open = number;
    this.card.hidden = number === null;
    if (number === null || !this.place) return;
    const note = this.notes[number - 1]!;
    this.card.replaceChildren(element("b", "number", String(number)), ` ${note.text}`);
    const { x, y } = pixelOf(this.place, note);
    const { width, height } = this.card.getBoundingClientRect();
    const left = Math.max(8, Math.min(x - width / 2, this.sheet.clientWidth - width - 8));
    const top = y - height - 18 < 8 ? y + 18 : y - height - 18;
    this.card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
