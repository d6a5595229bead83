/** The form of settings, and the switch between ways to divide the reward. */
import { choices } from "../ui/controls";
import { need } from "../ui/dom";
import { formatNumber } from "../ui/format";
import { ALLOCATIONS, type Fields } from "./settings";

/** Sliders whose values stand beside them, and the unit. */
const SLIDERS = [["total_reward", ""], ["target", "\u00a0%"], ["reward", ""]] as const;

export class SettingsForm {
  allocation = "optimised";

  constructor(private readonly form: HTMLFormElement) {}

  /** Sets the fields that are known by name and leaves the others alone. */
  fill(fields: Fields): void {
    for (const [name, value] of Object.entries(fields)) {
      if (name === "allocation" && ALLOCATIONS.includes(value)) this.allocation = value;
      const field = this.form.elements.namedItem(name);
      if (field instanceof HTMLInputElement) fillInput(field, value);
      if (field instanceof HTMLSelectElement && [...field.options].some((each) => each.value === value)) field.value = value;
    }
  }

  /** Calls back after each change by the reader. */
  listen(changed: () => void): void {
    this.form.addEventListener("input", changed);
    this.form.addEventListener("submit", (event) => event.preventDefault());
    choices(need(this.form, "[data-choose=allocation]"), this.allocation, (allocation) => {
      this.allocation = allocation;
      changed();
    });
  }

  /** The text of every field, and the allocation. */
  fields(): Fields {
    const texts = [...new FormData(this.form)].map(([name, value]) => [name, String(value)]);
    return { ...Object.fromEntries(texts), allocation: this.allocation };
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
  if (input.type === "checkbox") input.checked = true;
  else input.value = value;
}
