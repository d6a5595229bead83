/** Request form: a quote that follows the fields, and a slider for epsilon. */

const PAUSE = 250;
const STEPS = 200;

export function installRequest(page: Document): void {
  const form = page.querySelector<HTMLFormElement>("form[data-request]");
  const place = page.querySelector<HTMLElement>("[data-quote-place]");
  if (!form || !place) return;
  form.querySelector<HTMLElement>("[data-plain]")?.remove();
  const quote = new LiveQuote(form, place);
  form.addEventListener("input", () => quote.schedule());
  installSlider(form, place);
  rehearse(place);
}

/** Draws the rehearsal, where the quote has one; nothing else waits for it. */
function rehearse(place: HTMLElement): void {
  const figure = place.querySelector<HTMLElement>("[data-rehearsal]");
  if (!figure) return;
  import("./rehearsal")
    .then((module) => module.rehearse(figure))
    .catch((error: unknown) => console.warn("The rehearsal could not be drawn", error));
}

/** Fetches the quote for the form's present values and ignores answers that arrive late. */
class LiveQuote {
  private timer = 0;
  private asking: AbortController | undefined;

  constructor(
    private readonly form: HTMLFormElement,
    private readonly place: HTMLElement,
  ) {}

  schedule(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.refresh(), PAUSE);
  }

  private async refresh(): Promise<void> {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    this.place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`${this.form.dataset["quoteUrl"]}?${this.query()}`, {
        signal: asking.signal,
      });
      if (answer.ok) {
        this.place.innerHTML = await answer.text();
        rehearse(this.place);
      }
    } catch (error) {
      if (!asking.signal.aborted) console.warn("The quote could not be fetched", error);
    } finally {
      if (this.asking === asking) this.place.removeAttribute("aria-busy");
    }
  }

  /** The fields that the quote depends on; titles and descriptions are not sent. */
  private query(): string {
    const fields = new URLSearchParams();
    const words = new Set(["csrfmiddlewaretoken", "title", "description", "step"]);
    for (const [name, value] of new FormData(this.form)) {
      if (typeof value === "string" && !words.has(name)) fields.append(name, value);
    }
    return fields.toString();
  }
}

/** Slider from a two-hundredth of the epsilon that is left to all of it, kept equal to the field. */
function installSlider(form: HTMLFormElement, place: HTMLElement): void {
  const field = form.querySelector<HTMLInputElement>("input[name=epsilon]");
  const slider = form.querySelector<HTMLInputElement>("[data-range] input");
  const all = place.querySelector<HTMLElement>("[data-left]")?.dataset["left"] ?? "0";
  const left = Number(all);
  if (!field || !slider || !(left > 0)) return;
  slider.max = String(STEPS);
  const follow = (): void => {
    const share = Math.round((Number(field.value) / left) * STEPS);
    slider.value = String(Math.min(STEPS, Math.max(1, share || 1)));
    slider.style.setProperty("--at", `${(100 * Number(slider.value)) / STEPS}%`);
  };
  field.addEventListener("input", follow);
  slider.addEventListener("input", () => {
    field.value = epsilonAt(Number(slider.value), all);
    slider.style.setProperty("--at", `${(100 * Number(slider.value)) / STEPS}%`);
  });
  follow();
  for (const part of form.querySelectorAll<HTMLElement>("[data-range]")) part.hidden = false;
}

/** The epsilon at a step of the slider: at most all that is left, in at most six decimals. */
export function epsilonAt(step: number, all: string): string {
  if (step === STEPS) return all;
  // Rounding to three digits adds less than the half per cent that is between two steps.
  const share = Number(((Number(all) * step) / STEPS).toPrecision(3));
  return String(Math.floor(share * 1e6 + 1e-3) / 1e6);
}
