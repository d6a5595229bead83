/** Small still maps: drawn when they come into view, and again when the theme or size changes. */
import { type Basemap, fetchBasemap } from "./basemap";
import { type CellImage, paintCells } from "./cell-image";
import { onThemeChange, readPalette } from "./ramps";
import { decodeReleaseArray, type ReleaseArray } from "./release-array";
import { drawStaticMap } from "./static-map";
import { Surface } from "./surface";

type Loaded = { array: ReleaseArray; image: CellImage; basemap: Basemap | null };

export function installThumbnails(page: Document): void {
  const canvases = [...page.querySelectorAll<HTMLCanvasElement>("canvas[data-array]")];
  if (canvases.length === 0) return;
  const drawn = new Map<HTMLCanvasElement, Loaded>();
  const draw = (canvas: HTMLCanvasElement, { array, image, basemap }: Loaded): void => {
    drawStaticMap(canvas, array, image, basemap, readPalette(canvas));
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
  const [response, basemap] = await Promise.all([
    fetch(canvas.dataset.array!),
    fetchBasemap(canvas.dataset.basemap!).catch(() => null),
  ]);
  if (!response.ok) throw new Error(`The thumbnail did not load (${response.status}).`);
  const array = decodeReleaseArray(await response.arrayBuffer());
  const image = paintCells(new Surface(array, array.layers[0]!), "estimate");
  return { array, image, basemap };
}
