/** Interactive map of a release: the basemap, and one layer at a time on it. */
import "maplibre-gl/dist/maplibre-gl.css";
import { type GeoJSONSource, Map as MapLibre, setWorkerCount, setWorkerUrl } from "maplibre-gl";
import workerUrl from "virtual:map-worker";
import { linkAside, redrawWhole } from "../canvas/linking";
import { drawNeatline } from "../canvas/neatline";
import type { Palette } from "../colour/ramps";
import { type Basemap, isOutside } from "../data/basemap";
import type { OpenRelease } from "../data/open-release";
import type { Grid } from "../geometry/grid";
import { type View, zoomFor } from "../geometry/place";
import type { MapLayer } from "../layers/map-layer";
import { pause } from "../ui/pause";
import { basemapStyle, firstOver, recolourBasemap, showStreets } from "./basemap-layer";

// MapLibre 6 is ESM only: without the address of its worker the map stays blank.
setWorkerUrl(workerUrl);
setWorkerCount(1);

/** The worker's file under an address of its own, with which it may load tiles of another server. */
const OUTSIDE_WORKER = `${workerUrl}?outside`;

/** Widest cell in CSS pixels, which limits the zoom: closer there is nothing more to see. */
const WIDEST_CELL = 160;
const CLOSEST = 18;

export class DrawnMap {
  readonly map: MapLibre;
  private readonly basemap: Basemap;
  private mounted = false;
  private removed = false;
  private streets = true;
  private area: OpenRelease["scene"]["area"] | null = null;

  /**
   * The layer is added once the style is there, so that it never appears without its ground. Context,
   * style and layer are made in a task each, between which the page can answer.
   */
  constructor(
    container: HTMLElement,
    { release, scene }: OpenRelease,
    private layer: MapLayer,
    private palette: Palette,
    { longitude, latitude, zoom }: View,
  ) {
    this.basemap = scene.basemap;
    if (scene.basemap.ground.some(isOutside)) setWorkerUrl(OUTSIDE_WORKER);
    this.map = new MapLibre({
      container,
      center: [longitude, latitude],
      zoom,
      maxBounds: scene.basemap.bounds ?? scene.bounds,
      maxZoom: closest(release),
      attributionControl: false,
      // A map's address, which may be a draft's, is no business of whoever serves its ground.
      transformRequest: (url) => ({ url, referrerPolicy: "no-referrer" }),
      dragRotate: false,
      pitchWithRotate: false,
      touchPitch: false,
      renderWorldCopies: false,
      keyboard: false,
      fadeDuration: 0,
      // It is our own style, and to read it through would take longer than to draw it.
      validateStyle: false,
      canvasContextAttributes: { antialias: false },
    });
    linkAside(this.map);
    this.map.touchZoomRotate.disableRotation();
    this.map.once("remove", () => (this.removed = true));
    this.map.on("style.load", () => {
      // Where the browser gives the map a new context, the layer is there again with the style.
      if (this.mounted) this.mount(palette);
      else void pause().then(() => this.mount(palette));
    });
    void pause().then(() => {
      if (!this.removed) this.map.setStyle(basemapStyle(scene.basemap, scene.area, palette));
    });
  }

  private mount(styled: Palette): void {
    if (this.removed) return;
    if (this.palette !== styled) recolourBasemap(this.map, this.basemap, this.palette);
    this.layer.mount(this.map, firstOver(this.basemap));
    this.mounted = true;
    this.outline();
    if (!this.streets) showStreets(this.map, this.basemap, false);
  }

  /** Takes the data of a map that was put up without them. */
  take({ release, scene }: OpenRelease): void {
    this.map.setMaxZoom(closest(release));
    this.area = scene.area;
    if (this.mounted) this.outline();
  }

  private outline(): void {
    if (this.area) void this.map.getSource<GeoJSONSource>("area")!.setData(this.area);
  }

  show(layer: MapLayer): void {
    if (layer === this.layer) return;
    if (this.mounted) this.layer.unmount(this.map);
    this.layer = layer;
    if (this.mounted) layer.mount(this.map, firstOver(this.basemap));
  }

  showGround(streets: boolean): void {
    if (streets === this.streets) return;
    this.streets = streets;
    if (this.mounted) showStreets(this.map, this.basemap, streets);
  }

  /** The map as it is drawn now, to be copied at once; null without streets, which a picture lacks. */
  picture(): HTMLCanvasElement | null {
    if (!this.mounted || !this.streets || !this.basemap.ground.length) return null;
    redrawWhole(this.map);
    return this.map.getCanvas();
  }

  recolour(palette: Palette): void {
    this.palette = palette;
    if (this.mounted) recolourBasemap(this.map, this.basemap, palette);
    this.map.fire("resize");
  }
}

/** Draws the neatline again whenever the view changes. */
export function frameMap(map: MapLibre, frame: HTMLElement, palette: () => Palette): void {
  const draw = (): void => {
    const bounds = map.getBounds();
    drawNeatline(
      frame,
      {
        west: bounds.getWest(),
        east: bounds.getEast(),
        south: bounds.getSouth(),
        north: bounds.getNorth(),
        x: (longitude) => map.project([longitude, bounds.getNorth()]).x,
        y: (latitude) => map.project([bounds.getWest(), latitude]).y,
      },
      palette(),
    );
  };
  map.on("move", draw);
  map.on("resize", draw);
  void pause().then(draw);
}

/** The largest zoom: that of a wide cell, but close enough to tell one point from another. */
function closest({ grid, layers }: OpenRelease["release"]): number {
  return grid && !layers.some(({ shape }) => shape === "points") ? zoomOfCell(grid, WIDEST_CELL) : CLOSEST;
}

function zoomOfCell(grid: Grid, pixels: number): number {
  return Math.min(22, Math.max(2, zoomFor(grid.cell, pixels)));
}
