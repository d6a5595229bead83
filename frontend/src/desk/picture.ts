/** Pictures beside the steps: the study area, private points in it, or a rehearsed map. */
import { drawStaticMap, type Drawable } from "../canvas/static-map";
import { onThemeChange, type Palette, readPalette } from "../colour/ramps";
import { fetchBasemap } from "../data/basemap";
import { openRelease } from "../data/open-release";
import type { Ground } from "../data/scene";
import { type Pixel, pixelOf, type Place } from "../geometry/place";
import { type MapLayer, PLAIN_STYLE } from "../layers/map-layer";
import { loadLayer, readLooks } from "../layers/registry";

type Points = [longitude: number, latitude: number][];
type Loaded = { scene: Ground; layer: Drawable & { restyle(palette: Palette): void } };

const drawn = new Map<HTMLCanvasElement, Loaded>();
const NOTHING = { restyle: (): void => undefined, draw: (): void => undefined };

/** Draws every picture of a part of the page; those that left the page are forgotten. */
export function installPictures(part: ParentNode): void {
  if (drawn.size === 0) {
    onThemeChange(redraw);
    addEventListener("resize", redraw);
  }
  for (const canvas of part.querySelectorAll<HTMLCanvasElement>("canvas[data-ground]")) void show(canvas);
}

async function show(canvas: HTMLCanvasElement): Promise<void> {
  canvas.dataset.state = "loading";
  try {
    drawn.set(canvas, await load(canvas));
    draw(canvas);
    canvas.dataset.state = "drawn";
  } catch (error) {
    canvas.dataset.state = "failed";
    console.warn("A picture could not be drawn", error);
  }
}

async function load({ dataset }: HTMLCanvasElement): Promise<Loaded> {
  if (dataset.map) return rehearsed(dataset.map, dataset.ground!);
  const ground = (await fetchBasemap(dataset.ground!)) as unknown as Ground & Ground["basemap"];
  const scene = { bounds: ground.bounds, area: ground.area, basemap: ground.basemap };
  if (!dataset.points) return { scene, layer: NOTHING };
  const answer = await fetch(dataset.points);
  const { points } = answer.ok ? ((await answer.json()) as { points: Points }) : { points: [] };
  return { scene, layer: dots(points) };
}

/** A map that the server drew of invented people by the very mechanism. */
async function rehearsed(map: string, ground: string): Promise<Loaded> {
  const [{ release, scene }, { basemap }] = await Promise.all([
    openRelease(map, ground),
    fetchBasemap(ground) as unknown as Promise<Ground>,
  ]);
  const whole = { ...scene, basemap };
  const layer: MapLayer = await loadLayer(release.layers[0]!, release, whole, readLooks(undefined));
  return {
    scene: whole,
    layer: { restyle: (palette) => layer.restyle(PLAIN_STYLE, palette), draw: layer.draw.bind(layer) },
  };
}

/** Private points, drawn in ink, which is what was measured. */
function dots(points: Points): Loaded["layer"] {
  let colour = "";
  return {
    restyle: ({ ink }) => (colour = ink),
    draw: (pen: CanvasRenderingContext2D, place: Place): void => {
      pen.fillStyle = colour;
      pen.globalAlpha = 0.55;
      for (const [longitude, latitude] of points) {
        const { x, y }: Pixel = pixelOf(place, { longitude, latitude });
        pen.fillRect(x - 1, y - 1, 2, 2);
      }
      pen.globalAlpha = 1;
    },
  };
}

function redraw(): void {
  for (const canvas of drawn.keys()) {
    if (canvas.isConnected) draw(canvas);
    else drawn.delete(canvas);
  }
}

function draw(canvas: HTMLCanvasElement): void {
  const { scene, layer } = drawn.get(canvas)!;
  const palette = readPalette(canvas);
  layer.restyle(palette);
  drawStaticMap(canvas, scene, layer, palette);
}
