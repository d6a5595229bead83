/** The map's options: layer, figures, ramp, scale and opacity, where the page offers them. */
import type { Scale } from "../colour/classes";
import type { RampName } from "../colour/ramps";
import type { MapLayer, Show } from "../layers/map-layer";
import { choices, slider } from "../ui/controls";
import { need } from "../ui/dom";
import type { Link } from "./permalink";

export function installOptions(link: Link, layer: MapLayer, change: (change: Partial<Link>) => void): void {
  const options = document.querySelector<HTMLElement>("#map-options");
  if (!options) return;
  options.hidden = false;
  const offer = (name: string, chosen: string, choose: (value: string) => Partial<Link>): void => {
    const control = options.querySelector<HTMLElement>(`[data-choose=${name}]`);
    if (control) choices(control, chosen, (value) => change(choose(value)));
  };
  offer("show", link.show, (show) => ({ show: show as Show }));
  offer("layer", layer.name, (name) => ({ layer: name }));
  offer("ramp", link.ramp, (ramp) => ({ ramp: ramp as RampName }));
  offer("scale", link.scale, (scale) => ({ scale: scale as Scale }));
  slider(need(options, "#opacity"), link.opacity, (opacity) => change({ opacity }));
  limitOptions(layer);
}

/** Hides the options in which the layer has no choice. */
export function limitOptions({ shows, scales }: MapLayer): void {
  const offered: Record<string, boolean> = { show: shows.length > 1, scale: scales };
  for (const part of document.querySelectorAll<HTMLElement>("#map-options [data-only]")) {
    part.hidden = !offered[part.dataset.only!];
  }
}
