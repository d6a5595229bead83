/** The form of settings. */
import { need } from "../ui/dom";
import { formatNumber } from "../ui/format";
import type { Fields } from "./settings";

/** Sliders whose values stand beside them, and the unit. */
const SLIDERS = [["total_reward", ""], ["target", "\u00a0%"], ["reward", ""]] as const;

export class SettingsForm {
  constructor(private readonly form: HTMLFormElement) {}

  /** Sets the fields that are known by name and leaves the others alone. */
  fill(fields: Fields): void {
    for (const [name, value] of Object.entries(fields)) {
      const field = this.form.elements.namedItem(name);
      if (field instanceof HTMLInputElement) fillInput(field, value);
    }
  }

  /** Calls back after each change by the reader. */
  listen(changed: () => void): void {
    this.form.addEventListener("input", changed);
    this.form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** The text of every field. */
  fields(): Fields {
    return Object.fromEntries([...new FormData(this.form)].map(([name, value]) => [name, String(value)]));
  }

  showSliderValues(): void {
    for (const [name, unit] of SLIDERS) {
      const input = need<HTMLInputElement>(this.form, `#${name}`);
      need(this.form, `label[for=${name}] output`).textContent = `${formatNumber(Number(input.value))}${unit}`;
    }
  }

  /** The words beside a field, or "" where there is no such field. */
  labelOf(field: string): string {
    return this.form.querySelector(`label[for="${CSS.escape(field)}"]`)?.firstChild?.textContent?.trim() ?? "";
  }
}

function fillInput(input: HTMLInputElement, value: string): void {
  // A reward may lie beyond where the slider ends.
  if (input.type === "range" && Number(value) > Number(input.max)) input.max = value;
  input.value = value;
}
