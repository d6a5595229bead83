// The release page: the map island.
import "maplibre-gl/dist/maplibre-gl.css";
import { type Basemap, fetchBasemap } from "./basemap";
import { type CellImage, paintCells } from "./cell-image";
import { need } from "./dom";
import { Hover } from "./hover";
import { drawLegend, type Facts } from "./legend";
import type { Map as MapLibre } from "maplibre-gl";
import { formatLink, parseLink, roundView, type Show, type View } from "./permalink";
import { onThemeChange, readPalette } from "./ramps";
import { decodeReleaseArray, type ReleaseArray } from "./release-array";
import { drawStaticMap } from "./static-map";
import { Surface } from "./surface";
import { choices } from "./switch";

const frame = document.querySelector<HTMLElement>("#map");
if (frame) start(frame).catch((error: unknown) => say(frame, String(error instanceof Error ? error.message : error)));

/** What the reader chose: which layer, and whether to see counts or their margins. */
class Choice {
  surface: Surface;
  image: CellImage;

  constructor(
    private readonly array: ReleaseArray,
    layer: string | null,
    public show: Show,
  ) {
    this.surface = this.find(layer);
    this.image = paintCells(this.surface, show);
  }

  change(layer: string, show: Show): void {
    if (layer !== this.layer) this.surface = this.find(layer);
    this.show = show;
    this.image = paintCells(this.surface, show);
  }

  get layer(): string {
    return this.surface.layer.name;
  }

  /** A link names the layer only where it is not the one that was measured. */
  get layerInLink(): string | null {
    return this.surface.layer === this.array.layers[0] ? null : this.layer;
  }

  private find(name: string | null): Surface {
    const { layers } = this.array;
    return new Surface(this.array, layers.find((each) => each.name === name) ?? layers[0]!);
  }
}

async function start(frame: HTMLElement): Promise<void> {
  // The map library comes while the data come; where there is no WebGL it is never asked for.
  const library = canWebGL() ? import("./map") : null;
  const [array, basemap] = await Promise.all([
    fetchArray(frame.dataset.array!),
    fetchBasemap(frame.dataset.basemap!).catch(() => withoutOutlines()),
  ]);
  const link = parseLink(location.hash);
  const choice = new Choice(array, link.layer, link.show);
  const facts: Facts = {
    counting: array.counting,
    epsilon: frame.dataset.epsilon ?? "",
    date: frame.dataset.date ?? "",
  };
  const legend = need<HTMLElement>(frame, ".legend");
  const redrawLegend = () => drawLegend(legend, choice.surface, choice.image, choice.show, facts);
  redrawLegend();
  const redraw = library
    ? interactive(frame, array, basemap, choice, await library)
    : still(frame, array, basemap, choice);
  offerChoices(choice, () => {
    redrawLegend();
    redraw();
  });
  frame.dataset.state = "drawn";
}

async function fetchArray(url: string): Promise<ReleaseArray> {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(
      `The map's data did not load (${response.status}). The table and the files below hold the same figures; reload the page to try again.`,
    );
  }
  return decodeReleaseArray(await response.arrayBuffer());
}

/** The map is drawn without its coast rather than not at all. */
function withoutOutlines(): Basemap {
  const empty = { type: "MultiPolygon" as const, coordinates: [] };
  return { land: empty, inside: empty, coast: { type: "MultiLineString", coordinates: [] }, bounds: null };
}

function interactive(
  frame: HTMLElement,
  array: ReleaseArray,
  basemap: Basemap,
  choice: Choice,
  { drawMap, frameMap, recolour }: typeof import("./map"),
): () => void {
  let palette = readPalette(frame);
  const { view } = parseLink(location.hash);
  const drawn = drawMap(need(frame, ".canvas"), array, basemap, choice.image, palette, view);
  const { map, heatmap } = drawn;
  const neatline = need<HTMLCanvasElement>(frame, ".neatline");
  const canvas = map.getCanvas();
  canvas.setAttribute("aria-label", frame.dataset.label ?? "Map");
  canvas.setAttribute("aria-describedby", "map-keys");
  frameMap(map, neatline, () => palette);
  const hover = new Hover(map, need(frame, ".sheet"), choice.surface, choice.image.square, array.counting);
  offerZoom(frame, map);
  const remember = () => {
    const link = { view: settle(map), layer: choice.layerInLink, show: choice.show };
    history.replaceState(null, "", formatLink(link) || location.pathname);
  };
  map.on("moveend", (event) => {
    if (!("settling" in event)) remember();
  });
  onThemeChange(() => {
    palette = readPalette(frame);
    recolour(drawn, palette);
    map.fire("resize");
  });
  map.once("idle", () => (frame.dataset.state = "idle"));
  return () => {
    heatmap.show(choice.image);
    hover.use(choice.surface, choice.image.square);
    remember();
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
function still(
  frame: HTMLElement,
  array: ReleaseArray,
  basemap: Basemap,
  choice: Choice,
): () => void {
  frame.classList.add("still");
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", frame.dataset.label ?? "Map");
  need(frame, ".canvas").append(canvas);
  const draw = (): void =>
    drawStaticMap(canvas, array, choice.image, basemap, readPalette(frame));
  draw();
  onThemeChange(draw);
  addEventListener("resize", draw);
  say(frame, "This browser has no WebGL, so the map stands still. The table holds its figures.");
  return draw;
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

function offerChoices(choice: Choice, redraw: () => void): void {
  const options = document.querySelector<HTMLElement>("#map-options");
  if (!options) return;
  options.hidden = false;
  choices(need(options, "[data-choose=show]"), choice.show, (show) => {
    choice.change(choice.layer, show as Show);
    redraw();
  });
  const layers = options.querySelector<HTMLElement>("[data-choose=layer]");
  if (!layers) return;
  choices(layers, choice.layer, (name) => {
    choice.change(name, choice.show);
    redraw();
  });
}

function say(frame: HTMLElement, message: string): void {
  const notice = frame.querySelector<HTMLElement>(".map-notice");
  if (!notice) return;
  notice.textContent = message;
  notice.hidden = false;
}
