/**
 * Slices: layers that differ in their value of a category or in their time alone, the switch and the
 * slider between them, and all of them side by side.
 */
import { drawStaticMap } from "../canvas/static-map";
import type { Palette } from "../colour/ramps";
import { type BoxLayer, type Layer, type ReleaseArray, sliceTitle } from "../data/release-array";
import type { Ground } from "../data/scene";
import type { MapLayer } from "../layers/map-layer";
import { need } from "../ui/dom";
import { t } from "../ui/translate";

/** The slices of a release, by value and for each value by time; empty where it has none. */
export function slicesOf(release: ReleaseArray): Layer[] {
  return release.layers.filter((layer) => layer.slice === true);
}

/** The slice with the largest count, whose classes serve for all slices; null where none has counts. */
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

/** Connects the switch between values and the slider between times, where the page has them. */
export function sliceControls(slices: Layer[], chosen: string, choose: (layer: string) => void): void {
  if (slices.length === 0) return;
  const values = [...new Set(slices.map((slice) => slice.of_value ?? ""))];
  const of = (value: number): Layer[] => slices.filter((slice) => (slice.of_value ?? "") === values[value]);
  // Places of all values together are not divided by time; the other values all have the same times.
  const times = of(values.length - 1);
  const start = slices.find(({ name }) => name === chosen) ?? slices[0]!;
  const at = { value: values.indexOf(start.of_value ?? ""), time: 0 };
  at.time = Math.max(0, of(at.value).indexOf(start));
  const show = (): void => {
    const shown = of(at.value);
    hideTimes(shown.length < times.length);
    choose((shown[at.time] ?? shown[0]!).name);
  };
  const select = document.querySelector<HTMLSelectElement>("#slice-value");
  if (select) {
    select.selectedIndex = at.value;
    select.disabled = false;
    select.addEventListener("change", () => {
      at.value = select.selectedIndex;
      show();
    });
  }
  timeSlider(times.map((slice) => t(slice.of_time ?? "")), at.time, (time) => {
    at.time = time;
    show();
  });
  hideTimes(of(at.value).length < times.length);
}

/** Hides the slider with its title, or shows it. */
function hideTimes(hidden: boolean): void {
  for (const part of document.querySelectorAll<HTMLElement>("#by-time, #time-slices")) part.hidden = hidden;
}

function timeSlider(titles: string[], start: number, choose: (time: number) => void): void {
  const control = document.querySelector<HTMLElement>("#time-slices");
  if (!control) return;
  control.hidden = false;
  const input = need<HTMLInputElement>(control, "input");
  const say = (): void => {
    const title = titles[input.valueAsNumber]!;
    need(control, "output").textContent = title;
    input.setAttribute("aria-valuetext", title);
  };
  input.valueAsNumber = start;
  say();
  const show = (): void => {
    say();
    choose(input.valueAsNumber);
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
      input.valueAsNumber = (input.valueAsNumber + 1) % titles.length;
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

/** What is needed to draw all slices side by side. */
export type Multiples = {
  slices: Layer[];
  scene: Ground;
  palette: () => Palette;
  styled: (name: string) => Promise<MapLayer>;
};

/** Draws all slices side by side, in the same classes, once the reader opens them. */
export function installMultiples({ slices, scene, palette, styled }: Multiples): void {
  const details = document.querySelector<HTMLDetailsElement>("#side-by-side");
  if (!details || slices.length < 2) return;
  details.hidden = false;
  const list = need(details, ".multiples");
  const draw = async (): Promise<void> => {
    if (!details.open || list.childElementCount > 0) return;
    for (const slice of slices) {
      const [item, canvas, caption] = ["li", "canvas", "span"].map((tag) => document.createElement(tag));
      caption!.textContent = sliceTitle(slice);
      canvas!.setAttribute("role", "img");
      canvas!.setAttribute("aria-label", sliceTitle(slice));
      item!.append(canvas!, caption!);
      list.append(item!);
      drawStaticMap(canvas as HTMLCanvasElement, scene, await styled(slice.name), palette());
    }
  };
  details.addEventListener("toggle", () => void draw());
}
