/** Thumbnails of maps, drawn when they come into view and again when theme or size changes. */
import { drawStaticMap } from "../canvas/static-map";
import { onThemeChange, readPalette } from "../colour/ramps";
import { openRelease } from "../data/open-release";
import type { Scene } from "../data/scene";
import { type MapLayer, PLAIN_STYLE, type Style } from "../layers/map-layer";
import { openingLayer, openingStyle, readOpening } from "../layers/opening";
import { loadLayer, readLooks } from "../layers/registry";

type Loaded = { layer: MapLayer; style: Style; scene: Scene };

export function installThumbnails(page: Document): void {
  const canvases = [...page.querySelectorAll<HTMLCanvasElement>("canvas[data-array]")];
  if (canvases.length === 0) return;
  const drawn = new Map<HTMLCanvasElement, Loaded>();
  const draw = (canvas: HTMLCanvasElement, { layer, style, scene }: Loaded): void => {
    const palette = readPalette(canvas);
    layer.restyle(style, palette);
    drawStaticMap(canvas, scene, layer, palette);
    canvas.dataset.state = "drawn";
  };
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        watcher.unobserve(target);
        const canvas = target as HTMLCanvasElement;
        load(canvas)
          .then((loaded) => {
            drawn.set(canvas, loaded);
            draw(canvas, loaded);
          })
          .catch(() => (canvas.dataset.state = "failed"));
      }
    },
    { rootMargin: "200px" },
  );
  for (const canvas of canvases) watcher.observe(canvas);
  const redraw = (): void => drawn.forEach((loaded, canvas) => draw(canvas, loaded));
  onThemeChange(redraw);
  addEventListener("resize", redraw);
}

async function load(canvas: HTMLCanvasElement): Promise<Loaded> {
  const { release, scene } = await openRelease(canvas.dataset.array!, canvas.dataset.basemap!);
  const opening = readOpening(canvas.dataset.opens);
  const layer = await loadLayer(openingLayer(release, opening), release, scene, readLooks(canvas.dataset.looks));
  return { layer, style: openingStyle(PLAIN_STYLE, opening, layer.name), scene };
}
