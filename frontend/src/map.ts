/** The interactive map of a release, put together from its layers and widgets. */
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url";
import { Map as MapLibre, setWorkerCount, setWorkerUrl } from "maplibre-gl";
import type { Basemap } from "./basemap";
import { basemapStyle, FIRST_OVER, recolourBasemap } from "./basemap-layer";
import type { CellImage } from "./cell-image";
import { HeatmapLayer } from "./heatmap-layer";
import { drawNeatline } from "./neatline";
import type { View } from "./permalink";
import type { Palette } from "./ramps";
import type { Grid, ReleaseArray } from "./release-array";

// Version 6 is ESM only: without the name of its worker the map stays blank.
setWorkerUrl(workerUrl);
setWorkerCount(1);

/** A cell is never drawn wider than this, in CSS pixels: beyond it there is nothing to see. */
const WIDEST_CELL = 160;
const TILE = 512;
const WORLD = 2 * Math.PI * 6378137;

export type DrawnMap = { map: MapLibre; heatmap: HeatmapLayer };

/** Calls back once the map stands, so that the heatmap is never drawn without its ground. */
export function drawMap(
  container: HTMLElement,
  array: ReleaseArray,
  basemap: Basemap,
  image: CellImage,
  palette: Palette,
  view: View | null,
): DrawnMap {
  const map = new MapLibre({
    container,
    style: basemapStyle(basemap, array.area, palette),
    ...start(array, view),
    maxBounds: basemap.bounds ?? array.bounds,
    maxZoom: zoomOfCell(array.grid, WIDEST_CELL),
    attributionControl: false,
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    renderWorldCopies: false,
    keyboard: false,
    fadeDuration: 0,
    canvasContextAttributes: { antialias: false },
  });
  map.touchZoomRotate.disableRotation();
  const heatmap = new HeatmapLayer(array.grid, basemap.land, image, palette);
  map.on("style.load", () => map.addLayer(heatmap, FIRST_OVER));
  return { map, heatmap };
}

export function recolour({ map, heatmap }: DrawnMap, palette: Palette): void {
  recolourBasemap(map, palette);
  heatmap.recolour(palette);
}

/** Keeps the frame's graduation in step with the view. */
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

function zoomOfCell(grid: Grid, pixels: number): number {
  return Math.min(22, Math.max(2, Math.log2((pixels / grid.cell) * (WORLD / TILE))));
}

function start(array: ReleaseArray, view: View | null) {
  if (view) return { center: [view.longitude, view.latitude] as [number, number], zoom: view.zoom };
  return { bounds: array.bounds, fitBoundsOptions: { padding: 22 } };
}
