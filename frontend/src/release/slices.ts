/** Time slices: layers that differ in their time alone, and the slider between them. */
import type { BoxLayer, Layer, ReleaseArray } from "../data/release-array";
import { need } from "../ui/dom";
import { t } from "../ui/translate";

/** The slices of a release in order of time; empty where it has none. */
export function slicesOf(release: ReleaseArray): Layer[] {
  return release.layers.filter((layer) => layer.slice === true);
}

/** The slice with the largest count, whose classes serve for all slices. */
export function busiest(slices: Layer[]): BoxLayer | null {
  let [fullest, most]: [BoxLayer | null, number] = [null, -Infinity];
  for (const slice of slices) {
    if (!("noise" in slice)) continue;
    for (const stored of slice.stored) {
      if (slice.step * stored > most) [fullest, most] = [slice, slice.step * stored];
    }
  }
  return fullest;
}

/** Milliseconds that each slice is shown while they play. */
const PACE = 900;

/** Connects the slider between slices, and the button that plays them, where the page has them. */
export function timeSlider(slices: Layer[], chosen: string, choose: (layer: string) => void): void {
  const control = document.querySelector<HTMLElement>("#time-slices");
  if (!control || slices.length === 0) return;
  control.hidden = false;
  const input = need<HTMLInputElement>(control, "input");
  const say = (): void => {
    const title = t(slices[input.valueAsNumber]!.title);
    need(control, "output").textContent = title;
    input.setAttribute("aria-valuetext", title);
  };
  input.valueAsNumber = Math.max(0, slices.findIndex(({ name }) => name === chosen));
  say();
  const show = (): void => {
    say();
    choose(slices[input.valueAsNumber]!.name);
  };
  const play = need<HTMLButtonElement>(control, "button");
  let timer = 0;
  const stop = (): void => {
    clearInterval(timer);
    timer = 0;
    play.textContent = t("Play");
  };
  const toggle = (): void => {
    if (timer) return stop();
    play.textContent = t("Stop");
    timer = window.setInterval(() => {
      input.valueAsNumber = (input.valueAsNumber + 1) % slices.length;
      show();
    }, PACE);
  };
  play.addEventListener("click", toggle);
  input.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    toggle();
  });
  input.addEventListener("input", () => {
    stop();
    show();
  });
}
