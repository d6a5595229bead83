/** Interactive map of a release: the basemap, and one layer at a time on it. */
import { Map as MapLibre, setWorkerCount, setWorkerUrl } from "maplibre-gl";
import workerUrl from "virtual:map-worker";
import { drawNeatline } from "../canvas/neatline";
import type { Palette } from "../colour/ramps";
import type { Basemap } from "../data/basemap";
import type { OpenRelease } from "../data/open-release";
import type { Grid } from "../geometry/grid";
import { PADDING, type View, zoomFor } from "../geometry/place";
import type { MapLayer } from "../layers/map-layer";
import { basemapStyle, firstOver, recolourBasemap } from "./basemap-layer";

// MapLibre 6 is ESM only: without the address of its worker the map stays blank.
setWorkerUrl(workerUrl);
setWorkerCount(1);

/** Widest cell in CSS pixels, which limits the zoom: closer there is nothing more to see. */
const WIDEST_CELL = 160;
const CLOSEST = 18;

export class DrawnMap {
  readonly map: MapLibre;
  private readonly basemap: Basemap;
  private mounted = false;

  /** The layer is added once the basemap is drawn, so that it never appears without it. */
  constructor(
    container: HTMLElement,
    { release, scene }: OpenRelease,
    private layer: MapLayer,
    palette: Palette,
    view: View | null,
  ) {
    this.basemap = scene.basemap;
    this.map = new MapLibre({
      container,
      style: basemapStyle(scene.basemap, scene.area, palette),
      ...start(scene.bounds, view),
      maxBounds: scene.basemap.bounds ?? scene.bounds,
      maxZoom: closest(release),
      attributionControl: false,
      dragRotate: false,
      pitchWithRotate: false,
      touchPitch: false,
      renderWorldCopies: false,
      keyboard: false,
      fadeDuration: 0,
      canvasContextAttributes: { antialias: false },
    });
    this.map.touchZoomRotate.disableRotation();
    this.map.on("style.load", () => {
      this.layer.mount(this.map, firstOver(this.basemap));
      this.mounted = true;
    });
  }

  show(layer: MapLayer): void {
    if (layer === this.layer) return;
    if (this.mounted) this.layer.unmount(this.map);
    this.layer = layer;
    if (this.mounted) layer.mount(this.map, firstOver(this.basemap));
  }

  recolour(palette: Palette): void {
    recolourBasemap(this.map, this.basemap, palette);
    this.map.fire("resize");
  }
}

/** Draws the neatline again whenever the view changes. */
export function frameMap(map: MapLibre, canvas: HTMLCanvasElement, palette: () => Palette): void {
  const draw = (): void => {
    const bounds = map.getBounds();
    drawNeatline(
      canvas,
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
  draw();
}

/** The largest zoom: that of a wide cell, but close enough to tell one point from another. */
function closest({ grid, layers }: OpenRelease["release"]): number {
  return grid && !layers.some(({ shape }) => shape === "points") ? zoomOfCell(grid, WIDEST_CELL) : CLOSEST;
}

function zoomOfCell(grid: Grid, pixels: number): number {
  return Math.min(22, Math.max(2, zoomFor(grid.cell, pixels)));
}

function start(bounds: OpenRelease["scene"]["bounds"], view: View | null) {
  if (view) return { center: [view.longitude, view.latitude] as [number, number], zoom: view.zoom };
  return { bounds, fitBoundsOptions: { padding: PADDING } };
}
