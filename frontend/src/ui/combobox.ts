/** A combobox over a text box: options that arrows walk through, and that Enter or a click chooses. */
import { t } from "./translate";

/** The number of the option that a key leads to, -1 for none: up and down go round through the box itself. */
export function stepTo(key: string, at: number, count: number): number {
  if (key === "ArrowDown") return at + 1 < count ? at + 1 : -1;
  if (key === "ArrowUp") return at < 0 ? count - 1 : at - 1;
  return at;
}

export class Combobox {
  private readonly list = document.createElement("ul");
  private readonly status = document.createElement("p");
  private values: readonly string[] = [];
  private active = -1;
  /** Whether the list may open: an answer that comes after it was closed does not open it again. */
  private wanted = true;

  /** `chosen` is called with the number of an option once the text box has its value. */
  constructor(
    private readonly input: HTMLInputElement,
    label: string,
    private readonly chosen: (number: number) => void,
  ) {
    const { list, status } = this;
    Object.assign(list, { id: `${input.id}-options`, className: "options", hidden: true });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", label);
    status.className = "visually-hidden";
    status.setAttribute("role", "status");
    const box = document.createElement("div");
    box.className = "combobox";
    input.replaceWith(box);
    box.append(input, list, status);
    input.removeAttribute("list"); // the browser's own list would lie over this one
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id]] as const) {
      input.setAttribute(name, value);
    }
    input.addEventListener("keydown", (event) => this.onKey(event));
    input.addEventListener("input", () => (this.wanted = true));
    input.addEventListener("blur", () => this.close());
    // The box keeps the focus, so that a click on an option is not a way out of it.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const option = (event.target as Element).closest("[role=option]");
      if (option) this.choose([...list.children].indexOf(option));
    });
  }

  /** Shows other options. */
  offer(values: readonly string[]): void {
    this.values = values;
    this.list.replaceChildren(
      ...values.map((value, i) => {
        const option = Object.assign(document.createElement("li"), { id: `${this.list.id}-${i}`, textContent: value });
        option.setAttribute("role", "option");
        return option;
      }),
    );
    this.say(values.length ? t("Places found: {count}", { count: values.length }) : "");
    this.open(this.wanted && document.activeElement === this.input);
  }

  close(): void {
    this.wanted = false;
    this.open(false);
  }

  /** Tells screen readers what was found. */
  say(words: string): void {
    this.status.textContent = words;
  }

  private open(shown: boolean): void {
    this.list.hidden = !shown || !this.values.length;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.activate(-1);
  }

  private activate(number: number): void {
    this.active = number;
    for (const [i, option] of [...this.list.children].entries()) option.setAttribute("aria-selected", String(i === number));
    const option = this.list.children[number];
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  private choose(number: number): void {
    this.input.value = this.values[number]!;
    this.close();
    this.chosen(number);
  }

  private onKey(event: KeyboardEvent): void {
    const shown = !this.list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (shown) this.activate(stepTo(event.key, this.active, this.values.length));
      else this.open(true);
    } else if (event.key === "Enter" && shown && this.active >= 0) {
      event.preventDefault();
      this.choose(this.active);
    } else if (event.key === "Escape") {
      if (shown) event.preventDefault();
      this.close();
    }
  }
}
