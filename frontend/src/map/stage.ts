/** Stage of a release page: draws its layer on an interactive map, or without WebGL on a canvas. */
import type { Map as MapLibre } from "maplibre-gl";
import { drawStaticMap, staticMap } from "../canvas/static-map";
import { hasWebGL } from "../canvas/webgl";
import { type Palette, readPalette } from "../colour/ramps";
import type { OpenRelease } from "../data/open-release";
import { toMercator } from "../geometry/mercator";
import { type Bounds, fit, fitBeside, PADDING, pixelOf, type Place, placeOf, roundView, type View, viewOf } from "../geometry/place";
import type { MapLayer } from "../layers/map-layer";
import { need } from "../ui/dom";
import { pause } from "../ui/pause";
import { installFindPlace } from "./find-place";
import { Hover } from "./hover";
import type { DrawnMap } from "./map";
import { installZoomButtons } from "./zoom-buttons";

export type MapModule = typeof import("./map");

/**
 * Draws a still picture of what the map begins with, so that readers need not wait for the map
 * library. It lies over the map until that is drawn or moved, and is seen once it is whole.
 */
export async function drawAhead(frame: HTMLElement, { scene }: OpenRelease, layer: MapLayer, view: View): Promise<void> {
  const canvas = document.createElement("canvas");
  canvas.className = "ahead";
  canvas.setAttribute("aria-hidden", "true");
  canvas.style.visibility = "hidden";
  frame.querySelector(".ahead")?.remove();
  need(frame, ".canvas").after(canvas);
  const parts = staticMap(canvas, scene, layer, readPalette(frame), (width, height) => placeOf(view, width, height));
  while (!parts.next().done) await pause();
  canvas.style.visibility = "";
  requestAnimationFrame(() => performance.mark("dpgeo:heatmap"));
}

/** What a map shows that nobody has moved: the whole study area, beside the legend and the controls. */
export function openingView(frame: HTMLElement, bounds: Bounds): View {
  const sheet = need<HTMLElement>(frame, ".sheet");
  const { clientWidth: width, clientHeight: height } = sheet;
  const legend = frame.querySelector<HTMLElement>(".legend");
  const over = legend !== null && getComputedStyle(legend).position === "absolute";
  const covered = over
    ? { width: legend.offsetLeft + legend.offsetWidth, height: height - legend.offsetTop }
    : { width: 0, height: 0 };
  const place = fitBeside(bounds, width, height, covered, PADDING);
  const controls = controlsAtTop(frame, sheet);
  if (!controls.some((each) => coversArea(each, place, bounds))) return viewOf(place);
  const strip = Math.max(...controls.map(({ bottom }) => bottom));
  return viewOf(fitBeside(bounds, width, height, covered, PADDING, strip));
}

type Control = { left: number; right: number; bottom: number };

/** The box for places, which may be hidden still, and a switch beside it, in pixels of the sheet. */
function controlsAtTop(frame: HTMLElement, sheet: HTMLElement): Control[] {
  const form = frame.querySelector<HTMLElement>("form.find");
  const hidden = form?.hidden ?? false;
  if (form) form.hidden = false;
  const origin = sheet.getBoundingClientRect();
  const controls = [...frame.querySelectorAll("form.find, .shows")].map((each) => each.getBoundingClientRect());
  if (form) form.hidden = hidden;
  return controls
    .filter(({ top }) => top < origin.bottom)
    .map(({ left, right, bottom }) => ({ left: left - origin.left, right: right - origin.left, bottom: bottom - origin.top }));
}

function coversArea({ left, right, bottom }: Control, place: Place, [west, , east, north]: Bounds): boolean {
  const corner = pixelOf(place, { longitude: west, latitude: north });
  const { x } = pixelOf(place, { longitude: east, latitude: north });
  return corner.y < bottom && corner.x < right && x > left;
}

export type Stage = {
  /** Shows another layer, or the same after its style changed. */
  show(layer: MapLayer): void;
  /** The view as a link can hold it; null for a still picture. */
  view(): View | null;
  /** The place that is shown, for a picture of it. */
  place(): Place;
};

/** What the page adds to the map: a reaction to moves, and another layer in a part of it. */
export type Hooks = {
  moved: () => void;
  seenAt: (x: number) => MapLayer | null;
};

export class InteractiveStage implements Stage {
  readonly drawn: DrawnMap;
  readonly hover: Hover;
  private palette: Palette;
  private hooks: Hooks | null = null;

  private constructor(
    private readonly frame: HTMLElement,
    opened: OpenRelease,
    private layer: MapLayer,
    view: View,
    module: MapModule,
  ) {
    this.palette = readPalette(frame);
    this.drawn = new module.DrawnMap(need(frame, ".canvas"), opened, layer, this.palette, view);
    const { map } = this;
    name(map.getCanvas(), frame);
    map.getCanvas().setAttribute("aria-describedby", "map-keys");
    module.frameMap(map, need(frame, ".neatline"), () => this.palette);
    const seenAt = (x: number): MapLayer => this.hooks?.seenAt(x) ?? this.layer;
    this.hover = new Hover(map, need(frame, ".sheet"), layer, seenAt);
    installZoomButtons(frame, map);
    installFindPlace(frame, map);
    map.on("moveend", (event) => {
      if (!("settling" in event)) this.hooks?.moved();
    });
    const bare = (): void => frame.querySelector(".ahead")?.remove();
    map.once("movestart", bare);
    map.once("idle", () => {
      bare();
      performance.mark("dpgeo:map");
    });
  }

  /**
   * Puts up a map; null without WebGL, which only the failure tells: to ask before would have every
   * page wait twice for the graphics processor.
   */
  static put(frame: HTMLElement, opened: OpenRelease, layer: MapLayer, view: View, module: MapModule): InteractiveStage | null {
    try {
      return new InteractiveStage(frame, opened, layer, view, module);
    } catch (error) {
      if (hasWebGL()) throw error;
      return null;
    }
  }

  /** Shows the layer of a release, which a map may be put up without, and tells its page of moves. */
  take(opened: OpenRelease, layer: MapLayer, hooks: Hooks): void {
    this.hooks = hooks;
    if (layer !== this.layer) {
      this.layer = layer;
      this.drawn.take(opened);
      this.drawn.show(layer);
      this.hover.use(layer);
    }
    this.map.once("idle", () => {
      this.frame.dataset.state = "idle";
      performance.mark("dpgeo:drawn");
    });
  }

  get map(): MapLibre {
    return this.drawn.map;
  }

  show(layer: MapLayer): void {
    this.palette = readPalette(this.frame);
    this.layer = layer;
    this.drawn.recolour(this.palette);
    this.drawn.show(layer);
    this.hover.use(layer);
  }

  view(): View {
    return settle(this.map);
  }

  place(): Place {
    const { clientWidth: width, clientHeight: height } = this.map.getCanvas();
    const bounds = this.map.getBounds();
    const northWest = toMercator({ longitude: bounds.getWest(), latitude: bounds.getNorth() });
    const southEast = toMercator({ longitude: bounds.getEast(), latitude: bounds.getSouth() });
    const perPixel = (southEast.x - northWest.x) / width;
    return { west: northWest.x, north: northWest.y, perPixel, width, height };
  }
}

/** A still picture of the layer, for browsers without WebGL. */
export class StillStage implements Stage {
  private readonly canvas = document.createElement("canvas");

  constructor(
    private readonly frame: HTMLElement,
    private readonly opened: OpenRelease,
    private layer: MapLayer,
  ) {
    frame.classList.add("still");
    this.canvas.setAttribute("role", "img");
    name(this.canvas, frame);
    need(frame, ".canvas").append(this.canvas);
    this.draw();
    addEventListener("resize", () => this.draw());
  }

  show(layer: MapLayer): void {
    this.layer = layer;
    this.draw();
  }

  view(): null {
    return null;
  }

  place(): Place {
    return fit(this.opened.scene.bounds, this.canvas.clientWidth, this.canvas.clientHeight);
  }

  private draw(): void {
    drawStaticMap(this.canvas, this.opened.scene, this.layer, readPalette(this.frame));
  }
}

function name(canvas: HTMLCanvasElement, frame: HTMLElement): void {
  canvas.setAttribute("aria-label", frame.dataset.label ?? "");
}

/** Data of the events of a move that no reader has made. */
export const SETTLING = { settling: true };

/** Moves the map to the nearest view that a link can hold, so that links are exact. */
function settle(map: MapLibre): View {
  const { lat, lng } = map.getCenter();
  const view = roundView({ zoom: map.getZoom(), latitude: lat, longitude: lng });
  const off = view.zoom !== map.getZoom() || view.latitude !== lat || view.longitude !== lng;
  // The move ends at once, and its event is marked so that it does not lead back here.
  if (off) map.jumpTo({ center: [view.longitude, view.latitude], zoom: view.zoom }, SETTLING);
  return view;
}
