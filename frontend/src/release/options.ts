/** The map's options: layer, figures, ramp, scale and opacity, where the page offers them. */
import type { Scale } from "../colour/classes";
import type { RampName } from "../colour/ramps";
import type { MapLayer, Show } from "../layers/map-layer";
import { choices, slider } from "../ui/controls";
import type { GroundShown, Link } from "./permalink";

export function installOptions(
  link: Link,
  layer: MapLayer,
  streets: boolean,
  change: (change: Partial<Link>) => void,
): void {
  const parts = [...document.querySelectorAll<HTMLElement>("[data-options]")];
  for (const part of parts) part.hidden = false;
  const offer = (name: string, chosen: string, choose: (value: string) => Partial<Link>): void => {
    const control = document.querySelector<HTMLElement>(`[data-options] [data-choose=${name}]`);
    if (control) choices(control, chosen, (value) => change(choose(value)));
  };
  offer("show", link.show, (show) => ({ show: show as Show }));
  // Where the layer follows the zoom, one choice is to leave it to that, and has no value.
  const byZoom = document.querySelector('[data-options] [data-choose=layer] [data-value=""]');
  offer("layer", byZoom ? (link.layer ?? "") : layer.name, (name) => ({ layer: name || null }));
  offer("figures", link.figures, (figures) => ({ figures: figures as Link["figures"] }));
  offer("ramp", link.ramp, (ramp) => ({ ramp: ramp as RampName }));
  offer("scale", link.scale, (scale) => ({ scale: scale as Scale }));
  offer("ground", link.ground, (ground) => ({ ground: ground as GroundShown }));
  for (const part of document.querySelectorAll<HTMLElement>("[data-ground-choice]")) part.hidden = !streets;
  const opacity = document.querySelector<HTMLInputElement>("#opacity");
  if (opacity) slider(opacity, link.opacity, (percent) => change({ opacity: percent }));
  limitOptions(layer);
}

/** Hides the options in which the layer has no choice. */
export function limitOptions({ shows, scales }: MapLayer): void {
  const offered: Record<string, boolean> = { show: shows.length > 1, scale: scales };
  for (const part of document.querySelectorAll<HTMLElement>("[data-options] [data-only]")) {
    part.hidden = !offered[part.dataset.only!];
  }
}
