// The release page: the map island.
import "maplibre-gl/dist/maplibre-gl.css";
import { need } from "./dom";
import { Hover } from "./hover";
import { loadLayer } from "./layer-registry";
import { drawLegend, type Facts } from "./legend";
import type { MapLayer, Show, Style } from "./map-layer";
import type { Map as MapLibre } from "maplibre-gl";
import { type OpenRelease, openRelease } from "./open-release";
import { formatLink, type Link, parseLink, roundView, type View } from "./permalink";
import { onThemeChange, type RampName, readPalette } from "./ramps";
import type { Scale } from "./classes";
import { drawStaticMap } from "./static-map";
import { choices, slider } from "./switch";
import { t } from "./translate";

/** Where the layer is drawn: on an interactive map, or once on a canvas. */
type Stage = {
  /** Another layer, or the same after its style changed. */
  show(layer: MapLayer): void;
  view(): View | null;
};

async function start(frame: HTMLElement): Promise<void> {
  // The map library comes while the data come; where there is no WebGL it is never asked for.
  const library = canWebGL() ? import("./map") : null;
  const opened = await openRelease(frame.dataset.array!, frame.dataset.basemap!);
  const page = new Page(frame, opened, parseLink(location.hash));
  await page.open(library);
  frame.dataset.state ??= "drawn";
}

/** What is shown and how, and everything on the page that follows it. */
class Page {
  private readonly facts: Facts;
  private readonly layers = new Map<string, MapLayer>();
  private layer: MapLayer | null = null;
  private stage: Stage | null = null;

  constructor(
    private readonly frame: HTMLElement,
    private readonly opened: OpenRelease,
    private link: Link,
  ) {
    this.facts = { epsilon: frame.dataset.epsilon ?? "", date: frame.dataset.date ?? "" };
  }

  async open(library: Promise<typeof import("./map")> | null): Promise<void> {
    const layer = await this.restyled();
    this.stage = library
      ? interactive(this.frame, this.opened, layer, this.link.view, await library, () => this.remember())
      : still(this.frame, this.opened, layer);
    this.offerChoices(layer);
    onThemeChange(() => void this.change({}));
  }

  /** Applies a choice of the reader. */
  async change(change: Partial<Link>): Promise<void> {
    this.link = { ...this.link, ...change };
    this.stage!.show(await this.restyled());
    this.limitChoices();
    this.remember();
  }

  private async restyled(): Promise<MapLayer> {
    const { frame, link } = this;
    frame.dataset.ramp = link.ramp;
    const layer = await this.find(link.layer);
    const show = layer.shows.includes(link.show) ? link.show : layer.shows[0]!;
    const style: Style = { show, scale: link.scale, opacity: link.opacity / 100 };
    layer.restyle(style, readPalette(frame));
    drawLegend(need(frame, ".legend"), layer.legend(), this.facts);
    this.layer = layer;
    return layer;
  }

  private async find(name: string | null): Promise<MapLayer> {
    const { release, scene } = this.opened;
    const data = release.layers.find((each) => each.name === name) ?? release.layers[0]!;
    const known = this.layers.get(data.name);
    if (known) return known;
    const looks = JSON.parse(this.frame.dataset.looks ?? "{}") as Record<string, string>;
    const layer = await loadLayer(data, release, scene, looks);
    this.layers.set(data.name, layer);
    return layer;
  }

  /** A link names the layer only where it is not the one that was measured. */
  private remember(): void {
    const first = this.opened.release.layers[0]!.name;
    const layer = this.layer!.name === first ? null : this.layer!.name;
    const link = { ...this.link, view: this.stage!.view(), layer };
    history.replaceState(null, "", formatLink(link) || location.pathname);
  }

  /** Leaves out what the layer has no choice in. */
  private limitChoices(): void {
    const { shows, scales } = this.layer!;
    for (const part of document.querySelectorAll<HTMLElement>("#map-options [data-only=show]")) {
      part.hidden = shows.length < 2;
    }
    for (const part of document.querySelectorAll<HTMLElement>("#map-options [data-only=scale]")) {
      part.hidden = !scales;
    }
  }

  private offerChoices(layer: MapLayer): void {
    const options = document.querySelector<HTMLElement>("#map-options");
    if (!options) return;
    options.hidden = false;
    const offer = (name: string, chosen: string, choose: (value: string) => Partial<Link>): void => {
      const control = options.querySelector<HTMLElement>(`[data-choose=${name}]`);
      if (control) choices(control, chosen, (value) => void this.change(choose(value)));
    };
    offer("show", this.link.show, (show) => ({ show: show as Show }));
    offer("layer", layer.name, (name) => ({ layer: name }));
    offer("ramp", this.link.ramp, (ramp) => ({ ramp: ramp as RampName }));
    offer("scale", this.link.scale, (scale) => ({ scale: scale as Scale }));
    slider(need(options, "#opacity"), this.link.opacity, (opacity) => void this.change({ opacity }));
    this.limitChoices();
  }
}

function interactive(
  frame: HTMLElement,
  opened: OpenRelease,
  layer: MapLayer,
  view: View | null,
  { DrawnMap, frameMap }: typeof import("./map"),
  moved: () => void,
): Stage {
  let palette = readPalette(frame);
  const drawn = new DrawnMap(need(frame, ".canvas"), opened, layer, palette, view);
  const { map } = drawn;
  const canvas = map.getCanvas();
  canvas.setAttribute("aria-label", frame.dataset.label ?? t("Map"));
  canvas.setAttribute("aria-describedby", "map-keys");
  frameMap(map, need<HTMLCanvasElement>(frame, ".neatline"), () => palette);
  const hover = new Hover(map, need(frame, ".sheet"), layer);
  offerZoom(frame, map);
  map.on("moveend", (event) => {
    if (!("settling" in event)) moved();
  });
  map.once("idle", () => (frame.dataset.state = "idle"));
  return {
    show(next) {
      palette = readPalette(frame);
      drawn.recolour(palette);
      drawn.show(next);
      hover.use(next);
    },
    view: () => settle(map),
  };
}

const SETTLING = { settling: true };

/** Moves the map onto the nearest view that a link can hold, so that links are exact. */
function settle(map: MapLibre): View {
  const { lat, lng } = map.getCenter();
  const view = roundView({ zoom: map.getZoom(), latitude: lat, longitude: lng });
  const off = view.zoom !== map.getZoom() || view.latitude !== lat || view.longitude !== lng;
  // Quietly: the move ends at once, and what it reports must not come back here.
  if (off) map.jumpTo({ center: [view.longitude, view.latitude], zoom: view.zoom }, SETTLING);
  return view;
}

/** Without WebGL: the same picture, still. */
function still(frame: HTMLElement, { scene }: OpenRelease, layer: MapLayer): Stage {
  frame.classList.add("still");
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", frame.dataset.label ?? t("Map"));
  need(frame, ".canvas").append(canvas);
  let shown = layer;
  const draw = (): void => drawStaticMap(canvas, scene, shown, readPalette(frame));
  draw();
  addEventListener("resize", draw);
  say(frame, t("This browser has no WebGL, so the map stands still. The table holds its figures."));
  return {
    show(next) {
      shown = next;
      draw();
    },
    view: () => null,
  };
}

function canWebGL(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

function offerZoom(frame: HTMLElement, map: { zoomIn(): unknown; zoomOut(): unknown }): void {
  const tools = need<HTMLElement>(frame, ".tools");
  need(tools, "[data-zoom=in]").addEventListener("click", () => map.zoomIn());
  need(tools, "[data-zoom=out]").addEventListener("click", () => map.zoomOut());
  tools.hidden = false;
}

function say(frame: HTMLElement, message: string): void {
  const notice = frame.querySelector<HTMLElement>(".map-notice");
  if (!notice) return;
  notice.textContent = message;
  notice.hidden = false;
}

const frame = document.querySelector<HTMLElement>("#map");
if (frame) start(frame).catch((error: unknown) => say(frame, String(error instanceof Error ? error.message : error)));
