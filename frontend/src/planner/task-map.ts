/** The map of the planner: the release's layer, and the tasks over it. */
import type { Map as MapLibre } from "maplibre-gl";
import { drawStaticMap } from "../canvas/static-map";
import { hasWebGL } from "../canvas/webgl";
import { onThemeChange, readPalette } from "../colour/ramps";
import type { RadiusMap } from "../data/api";
import { type OpenRelease, openRelease } from "../data/open-release";
import type { Layer } from "../data/release-array";
import { type MapLayer, PLAIN_STYLE } from "../layers/map-layer";
import { openingStyle, readOpening } from "../layers/opening";
import { loadLayer, readLooks } from "../layers/registry";
import { installFindPlace } from "../map/find-place";
import { Hover } from "../map/hover";
import { drawLegend, factsOf } from "../map/legend";
import type { DrawnMap } from "../map/map";
import { openingView } from "../map/stage";
import { installZoomButtons } from "../map/zoom-buttons";
import { need } from "../ui/dom";
import { Circles } from "./circles";
import type { PlannedTask } from "./plan";
import { RadiusLayer } from "./radius-layer";

/** Decimals of a degree of a task that is placed by a click. */
const DECIMALS = 6;

export type MapActions = {
  /** A click on a task's mark. */
  select: (index: number) => void;
  /** A click elsewhere, while tasks are being placed. */
  place: (longitude: number, latitude: number) => void;
};

export class TaskMap {
  private circles: Circles | null = null;
  private opened: OpenRelease | null = null;
  private density: MapLayer | null = null;
  /** The layer that is drawn, or shall be once the map is open: the density or the radius. */
  private layer: MapLayer | null = null;
  private drawn: DrawnMap | null = null;
  private hover: Hover | null = null;
  /** A radius map that came before the map was open. */
  private waiting: RadiusMap | null = null;
  private tasks: readonly PlannedTask[] = [];
  private selected: number | null = null;

  constructor(private readonly frame: HTMLElement, private readonly actions: MapActions) {}

  /** Whether the map can be clicked on; without WebGL it is a still picture. */
  async open(): Promise<boolean> {
    const { frame } = this;
    const opened = await openRelease(frame.dataset.array!, frame.dataset.basemap!);
    const { release, scene } = opened;
    this.density = await loadLayer(layerToPlanOn(release.layers), release, scene, readLooks(frame.dataset.looks));
    this.opened = opened;
    this.layer = this.waiting ? new RadiusLayer(this.waiting, scene) : this.density;
    this.restyle();
    if (hasWebGL()) await this.drawInteractive(opened);
    else this.drawStill(opened);
    return this.circles !== null;
  }

  showDensity(): void {
    this.waiting = null;
    if (this.density) this.use(this.density);
  }

  showRadius(answer: RadiusMap): void {
    this.waiting = answer;
    if (this.opened) this.use(new RadiusLayer(answer, this.opened.scene));
  }

  show(tasks: readonly PlannedTask[], selected: number | null): void {
    this.tasks = tasks;
    this.selected = selected;
    this.circles?.show(tasks, selected);
  }

  private use(layer: MapLayer): void {
    if (layer === this.layer) return;
    this.layer = layer;
    this.restyle();
    this.drawn?.show(layer);
    this.hover?.use(layer);
    this.hover?.suspend(layer === this.density);
    if (!hasWebGL()) this.drawStill(this.opened!);
  }

  private restyle(): void {
    const layer = this.layer!;
    this.frame.dataset.shows = layer === this.density ? "density" : "radius";
    const opening = readOpening(this.frame.dataset.opens);
    layer.restyle(openingStyle(PLAIN_STYLE, opening, layer.name), readPalette(this.frame));
    // The circles' key is a part of the legend, within one border; drawing the legend empties it.
    const legend = need<HTMLElement>(this.frame, ".legend");
    const circles = need(this.frame, ".circle-key");
    drawLegend(legend, layer.legend(), factsOf(this.frame));
    legend.append(circles);
  }

  private async drawInteractive(opened: OpenRelease): Promise<void> {
    const { frame } = this;
    const { DrawnMap, frameMap } = await import("../map/map");
    let palette = readPalette(frame);
    const view = openingView(frame, opened.scene.bounds);
    const drawn = new DrawnMap(need(frame, ".canvas"), opened, this.layer!, palette, view);
    this.drawn = drawn;
    const { map } = drawn;
    map.getCanvas().setAttribute("aria-label", frame.dataset.label!);
    frameMap(map, need(frame, ".neatline"), () => palette);
    const circles = new Circles(map, need(frame, ".circles"), () => palette);
    this.circles = circles;
    this.hover = new Hover(map, need(frame, ".sheet"), this.layer!);
    this.hover.suspend(this.layer === this.density);
    onThemeChange(() => {
      palette = readPalette(frame);
      this.restyle();
      drawn.recolour(palette);
      circles.draw();
    });
    const placing = this.installTools(map);
    map.on("click", ({ point, lngLat }) => {
      const index = circles.at(point.x, point.y);
      if (index !== null) this.actions.select(index);
      else if (placing()) this.actions.place(round(lngLat.lng), round(lngLat.lat));
    });
    map.once("idle", () => (frame.dataset.state = "idle"));
    circles.show(this.tasks, this.selected);
  }

  /** Returns whether clicks place tasks, which a button on the map switches. */
  private installTools(map: MapLibre): () => boolean {
    installZoomButtons(this.frame, map);
    installFindPlace(this.frame, map);
    const button = need<HTMLButtonElement>(this.frame, ".tools [data-tool=place]");
    const placing = (): boolean => button.getAttribute("aria-pressed") === "true";
    button.addEventListener("click", () => button.setAttribute("aria-pressed", String(!placing())));
    return placing;
  }

  private drawStill({ scene }: OpenRelease): void {
    const canvas = document.createElement("canvas");
    need(this.frame, ".canvas").replaceChildren(canvas);
    drawStaticMap(canvas, scene, this.layer!, readPalette(this.frame));
  }
}

/** The layer that plans are made from: the contours' bands, else the last that stands in the array. */
export function layerToPlanOn(layers: readonly Layer[]): Layer {
  return layers.find(({ name }) => name === "bands") ?? layers.filter(({ shape }) => shape !== "shapes").pop()!;
}

function round(degrees: number): number {
  return Number(degrees.toFixed(DECIMALS));
}
