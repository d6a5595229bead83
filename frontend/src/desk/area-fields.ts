/** The form's fields of a study area: four sides, or an outline. */
import { type AreaShape, fromBounds, readBounds, readGeojson } from "../geometry/area-shape";
import { need } from "../ui/dom";
import type { Finished } from "./area-sketch";

export const SIDES = ["west", "south", "east", "north"] as const;

export class AreaFields {
  private readonly sides: HTMLInputElement[];
  private readonly outline: HTMLTextAreaElement;

  constructor(private readonly form: HTMLFormElement) {
    this.sides = SIDES.map((name) => need<HTMLInputElement>(form, `[name=${name}]`));
    this.outline = need(form, "[name=outline]");
  }

  onChange(changed: () => void): void {
    for (const field of [...this.sides, this.outline]) field.addEventListener("change", changed);
  }

  /** The area that the fields say; null while they say none. */
  read(): AreaShape | null {
    try {
      if (this.outline.value.trim()) return readGeojson(this.outline.value);
      return fromBounds(readBounds(this.sides.map((side) => side.value)));
    } catch {
      return null;
    }
  }

  write({ bounds, outline }: Finished): void {
    bounds.forEach((side, at) => (this.sides[at]!.value = outline ? "" : String(side)));
    this.outline.value = outline ? JSON.stringify(outline) : "";
    if (outline) this.outline.closest("details")!.open = true;
    this.form.dispatchEvent(new CustomEvent("drawn"));
  }
}
