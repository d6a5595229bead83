/** Time slices: layers that differ in their time alone, and the slider between them. */
import type { BoxLayer, ReleaseArray } from "../data/release-array";
import { need } from "../ui/dom";
import { t } from "../ui/translate";

/** The slices of a release in order of time; empty where it has none. */
export function slicesOf(release: ReleaseArray): BoxLayer[] {
  return release.layers.filter((layer): layer is BoxLayer => layer.slice === true && "noise" in layer);
}

/** The slice with the largest count, whose classes serve for all slices. */
export function busiest(slices: BoxLayer[]): BoxLayer | null {
  let [fullest, most]: [BoxLayer | null, number] = [null, -Infinity];
  for (const slice of slices) {
    for (const stored of slice.stored) {
      if (slice.step * stored > most) [fullest, most] = [slice, slice.step * stored];
    }
  }
  return fullest;
}

/** Connects the slider between slices, where the page has one. */
export function timeSlider(slices: BoxLayer[], chosen: string, choose: (layer: string) => void): void {
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
  input.addEventListener("input", () => {
    say();
    choose(slices[input.valueAsNumber]!.name);
  });
}
