/** The layers of a release, each loaded once and styled as the link says. */
import { readPalette } from "../colour/ramps";
import type { OpenRelease } from "../data/open-release";
import type { BoxLayer, Layer } from "../data/release-array";
import type { Basis, MapLayer, Style } from "../layers/map-layer";
import { layerByZoom, type Opening, openingLayer, openingStyle, readOpening } from "../layers/opening";
import { loadLayer, readLooks } from "../layers/registry";
import { pause } from "../ui/pause";
import type { Link } from "./permalink";
import { busiest, slicesOf } from "./slices";

export type StyledLayer = { layer: MapLayer; style: Style };

export class StyledLayers {
  readonly slices: Layer[];
  private readonly opening: Opening;
  private readonly busiest: BoxLayer | null;
  private readonly loaded = new Map<string, MapLayer>();

  constructor(private readonly frame: HTMLElement, private readonly opened: OpenRelease) {
    this.opening = readOpening(frame.dataset.opens);
    this.slices = slicesOf(opened.release);
    this.busiest = busiest(this.slices);
  }

  /** The name of the layer for a link; `metres` is a pixel's width on the ground. */
  nameFor({ layer }: Link, metres: number): string {
    const { release } = this.opened;
    const known = release.layers.some(({ name }) => name === layer);
    const fallback = { ...this.opening, layer: openingLayer(release, this.opening).name };
    return known ? layer! : layerByZoom(fallback, metres);
  }

  /** The layer for a link, ready to be shown. */
  async styled(link: Link, metres: number): Promise<StyledLayer> {
    this.frame.dataset.ramp = link.ramp;
    const layer = await this.find(this.nameFor(link, metres));
    const show = layer.shows.includes(link.show) ? link.show : layer.shows[0]!;
    const chosen: Style = { show, scale: link.scale, opacity: link.opacity / 100 };
    const style = openingStyle(chosen, this.opening, layer.name);
    const basis = style.basis ?? (await this.sliceBasis(style));
    if (basis) style.basis = basis;
    layer.restyle(style, readPalette(this.frame));
    return { layer, style };
  }

  /** A choice of layer as a link holds it: null for what the map opens on, or shows by zoom. */
  linkName(name: string | null): string | null {
    const { release } = this.opened;
    if (!release.layers.some((layer) => layer.name === name)) return null;
    return !this.opening.dots && name === openingLayer(release, this.opening).name ? null : name;
  }

  /** The name of a layer that is a slice; "" of any other. */
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

  private async find(name: string): Promise<MapLayer> {
    const { release, scene } = this.opened;
    const known = this.loaded.get(name);
    if (known) return known;
    const data = release.layers.find((each) => each.name === name)!;
    const layer = await loadLayer(data, release, scene, readLooks(this.frame.dataset.looks));
    this.loaded.set(data.name, layer);
    await pause();
    return layer;
  }
}

/** The style for another release: with the layer's own classes, or its colours would say something else. */
export function sharedStyle({ layer, style }: StyledLayer): Style {
  const basis = layer.basis?.();
  return basis ? { ...style, basis } : style;
}
