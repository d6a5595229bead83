/** The layers of a release, each loaded once and styled as the link says. */
import { readPalette } from "../colour/ramps";
import type { OpenRelease } from "../data/open-release";
import type { BoxLayer } from "../data/release-array";
import type { Basis, MapLayer, Style } from "../layers/map-layer";
import { type Opening, openingLayer, openingStyle, readOpening } from "../layers/opening";
import { loadLayer, readLooks } from "../layers/registry";
import type { Link } from "./permalink";
import { busiest, slicesOf } from "./slices";

export type StyledLayer = { layer: MapLayer; style: Style };

export class StyledLayers {
  readonly slices: BoxLayer[];
  private readonly opening: Opening;
  private readonly busiest: BoxLayer | null;
  private readonly loaded = new Map<string, MapLayer>();

  constructor(private readonly frame: HTMLElement, private readonly opened: OpenRelease) {
    this.opening = readOpening(frame.dataset.opens);
    this.slices = slicesOf(opened.release);
    this.busiest = busiest(this.slices);
  }

  /** The layer that a link names, or the one to open on, ready to be shown. */
  async styled(link: Link): Promise<StyledLayer> {
    this.frame.dataset.ramp = link.ramp;
    const layer = await this.find(link.layer);
    const show = layer.shows.includes(link.show) ? link.show : layer.shows[0]!;
    const chosen: Style = { show, scale: link.scale, opacity: link.opacity / 100 };
    const style = openingStyle(chosen, this.opening, layer.name);
    const basis = style.basis ?? (await this.sliceBasis(style));
    if (basis) style.basis = basis;
    layer.restyle(style, readPalette(this.frame));
    return { layer, style };
  }

  /** The name as a link holds it: null of the layer that the map opens on. */
  linkName({ name }: MapLayer): string | null {
    return name === openingLayer(this.opened.release, this.opening).name ? null : name;
  }

  /** The name of a layer that is a slice of time; "" of any other. */
  sliceName({ name }: MapLayer): string {
    return this.slices.some((slice) => slice.name === name) ? name : "";
  }

  /** Classes that suit every slice, so that a colour says the same in each. */
  private async sliceBasis(style: Style): Promise<Basis | null> {
    if (!this.busiest) return null;
    const layer = await this.find(this.busiest.name);
    layer.restyle(style, readPalette(this.frame));
    return layer.basis?.() ?? null;
  }

  private async find(name: string | null): Promise<MapLayer> {
    const { release, scene } = this.opened;
    const data = release.layers.find((each) => each.name === name) ?? openingLayer(release, this.opening);
    const known = this.loaded.get(data.name);
    if (known) return known;
    const layer = await loadLayer(data, release, scene, readLooks(this.frame.dataset.looks));
    this.loaded.set(data.name, layer);
    return layer;
  }
}

/** The style for another release: with the layer's own classes, or its colours would say something else. */
export function sharedStyle({ layer, style }: StyledLayer): Style {
  const basis = layer.basis?.();
  return basis ? { ...style, basis } : style;
}
