/** Maps by time: layers that differ in their time alone, gone through with a slider. */
import type { BoxLayer, ReleaseArray } from "../data/release-array";
import { need } from "../ui/dom";
import { t } from "../ui/translate";

/** The slices of a release in their order; none where it has no times. */
export function slicesOf(release: ReleaseArray): BoxLayer[] {
  return release.layers.filter((layer): layer is BoxLayer => layer.slice === true && "noise" in layer);
}

/** The slice with the largest count: its classes suit all, so that a colour says the same in each. */
export function busiest(slices: BoxLayer[]): BoxLayer | null {
  let [found, most]: [BoxLayer | null, number] = [null, -Infinity];
  for (const slice of slices) {
    for (const stored of slice.stored) {
      if (slice.step * stored > most) [found, most] = [slice, slice.step * stored];
    }
  }
  return found;
}

/** The slider that goes from slice to slice, where a page has one. */
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
