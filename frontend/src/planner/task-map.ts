/** The map of the planner: the release's layer, and the tasks over it. */
import { drawStaticMap } from "../canvas/static-map";
import { hasWebGL } from "../canvas/webgl";
import { onThemeChange, readPalette } from "../colour/ramps";
import { type OpenRelease, openRelease } from "../data/open-release";
import type { Layer } from "../data/release-array";
import { type MapLayer, PLAIN_STYLE } from "../layers/map-layer";
import { openingStyle, readOpening } from "../layers/opening";
import { loadLayer, readLooks } from "../layers/registry";
import { drawLegend, factsOf } from "../map/legend";
import { installZoomButtons } from "../map/zoom-buttons";
import { need } from "../ui/dom";
import { Circles } from "./circles";
import type { PlannedTask } from "./plan";

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
  private tasks: readonly PlannedTask[] = [];
  private selected: number | null = null;

  constructor(private readonly frame: HTMLElement, private readonly actions: MapActions) {}

  /** Whether the map can be clicked on; without WebGL it is a still picture. */
  async open(): Promise<boolean> {
    const { frame } = this;
    const opened = await openRelease(frame.dataset.array!, frame.dataset.basemap!);
    const { release, scene } = opened;
    const layer = await loadLayer(layerToPlanOn(release.layers), release, scene, readLooks(frame.dataset.looks));
    this.restyle(layer);
    if (hasWebGL()) await this.drawInteractive(opened, layer);
    else this.drawStill(opened, layer);
    return this.circles !== null;
  }

  show(tasks: readonly PlannedTask[], selected: number | null): void {
    this.tasks = tasks;
    this.selected = selected;
    this.circles?.show(tasks, selected);
  }

  private restyle(layer: MapLayer): void {
    const opening = readOpening(this.frame.dataset.opens);
    layer.restyle(openingStyle(PLAIN_STYLE, opening, layer.name), readPalette(this.frame));
    drawLegend(need(this.frame, ".legend"), layer.legend(), factsOf(this.frame));
  }

  private async drawInteractive(opened: OpenRelease, layer: MapLayer): Promise<void> {
    const { frame } = this;
    const { DrawnMap, frameMap } = await import("../map/map");
    let palette = readPalette(frame);
    const drawn = new DrawnMap(need(frame, ".canvas"), opened, layer, palette, null);
    const { map } = drawn;
    map.getCanvas().setAttribute("aria-label", frame.dataset.label!);
    frameMap(map, need<HTMLCanvasElement>(frame, ".neatline"), () => palette);
    const circles = new Circles(map, need(frame, ".circles"), () => palette);
    this.circles = circles;
    onThemeChange(() => {
      palette = readPalette(frame);
      this.restyle(layer);
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
  private installTools(map: { zoomIn(): unknown; zoomOut(): unknown }): () => boolean {
    installZoomButtons(this.frame, map);
    const button = need<HTMLButtonElement>(this.frame, ".tools [data-tool=place]");
    const placing = (): boolean => button.getAttribute("aria-pressed") === "true";
    button.addEventListener("click", () => button.setAttribute("aria-pressed", String(!placing())));
    return placing;
  }

  private drawStill({ scene }: OpenRelease, layer: MapLayer): void {
    const canvas = document.createElement("canvas");
    need(this.frame, ".canvas").append(canvas);
    drawStaticMap(canvas, scene, layer, readPalette(this.frame));
  }
}

/** The layer that plans are made from: the contours' bands, else the last that stands in the array. */
export function layerToPlanOn(layers: readonly Layer[]): Layer {
  return layers.find(({ name }) => name === "bands") ?? layers.filter(({ shape }) => shape !== "shapes").pop()!;
}

function round(degrees: number): number {
  return Number(degrees.toFixed(DECIMALS));
}
