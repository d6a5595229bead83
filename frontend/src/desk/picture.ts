/** Pictures beside the steps: the study area, private points in it, or a rehearsed map. */
import { drawStaticMap, type Drawable } from "../canvas/static-map";
import { onThemeChange, type Palette, readPalette } from "../colour/ramps";
import { fetchBasemap } from "../data/basemap";
import { openRelease } from "../data/open-release";
import type { Ground } from "../data/scene";
import { type Bounds, type Pixel, pixelOf, type Place } from "../geometry/place";
import { type MapLayer, PLAIN_STYLE } from "../layers/map-layer";
import { openingLayer, openingStyle, readOpening } from "../layers/opening";
import { loadLayer, readLooks } from "../layers/registry";
import { t } from "../ui/translate";

type Points = [longitude: number, latitude: number][];
type Loaded = { scene: Ground; layer: Drawable & { restyle(palette: Palette): void } };

let queue: Promise<void> = Promise.resolve();
const drawn = new Map<HTMLCanvasElement, Loaded>();
const NOTHING = { restyle: (): void => undefined, draw: (): void => undefined };

/** Draws every picture of a part of the page; those that left the page are forgotten. */
export function installPictures(part: ParentNode): void {
  if (drawn.size === 0) {
    onThemeChange(redraw);
    addEventListener("resize", redraw);
  }
  const canvases = [...part.querySelectorAll<HTMLCanvasElement>("canvas[data-ground]")];
  // One after the other, the large one first: each may take the server some of its time.
  canvases.sort((one, other) => other.clientHeight - one.clientHeight);
  for (const canvas of canvases) {
    canvas.dataset.state = "loading";
    say(canvas, t("Drawing a map of invented people…"), true);
  }
  for (const canvas of canvases) queue = queue.then(() => (canvas.isConnected ? show(canvas) : undefined));
}

async function show(canvas: HTMLCanvasElement): Promise<void> {
  try {
    drawn.set(canvas, await load(canvas));
    draw(canvas);
    canvas.dataset.state = "drawn";
    say(canvas, t("The map of invented people is drawn."), false);
  } catch (error) {
    canvas.dataset.state = "failed";
    say(canvas, "", false);
    const words = Object.assign(document.createElement("p"), { className: "xs quiet" });
    words.textContent = t("This picture could not be drawn; reload the page.");
    canvas.after(words);
    console.warn("A picture could not be drawn", error);
  }
}

/** Says over a picture, and to screen readers, how far it is; what is not shown is only spoken. */
function say(canvas: HTMLCanvasElement, words: string, shown: boolean): void {
  const status = canvas.parentElement?.querySelector<HTMLElement>(":scope > .drawing");
  if (!status) return;
  status.classList.toggle("visually-hidden", !shown);
  status.textContent = words;
}

async function load({ dataset }: HTMLCanvasElement): Promise<Loaded> {
  if (dataset.map) return rehearsed(dataset.map, dataset.ground!);
  const ground = (await fetchBasemap(dataset.ground!)) as unknown as Ground & Ground["basemap"];
  const scene = { bounds: ground.bounds, area: ground.area, basemap: ground.basemap };
  if (!dataset.points) return { scene, layer: NOTHING };
  const points = JSON.parse(document.getElementById(dataset.points)!.textContent) as Points;
  return { scene: { ...scene, bounds: around(scene.bounds, points) }, layer: dots(points) };
}

/** A map that the server drew of invented people by the very mechanism. */
async function rehearsed(map: string, ground: string): Promise<Loaded> {
  // The browser keeps the answer, so that what follows shows the same draw.
  const { headers } = await fetch(map);
  const opening = readOpening(headers.get("Dpgeo-Opens") ?? undefined);
  const looks = readLooks(headers.get("Dpgeo-Looks") ?? undefined);
  const [{ release, scene }, { basemap }] = await Promise.all([
    openRelease(map, ground),
    fetchBasemap(ground) as unknown as Promise<Ground>,
  ]);
  const whole = { ...scene, basemap };
  const layer: MapLayer = await loadLayer(openingLayer(release, opening), release, whole, looks);
  const style = openingStyle(PLAIN_STYLE, opening, layer.name);
  return {
    scene: whole,
    layer: { restyle: (palette) => layer.restyle(style, palette), draw: layer.draw.bind(layer) },
  };
}

/** The bounds of the study area; where most points lie outside, of these, too. */
function around([west, south, east, north]: Bounds, points: Points): Bounds {
  const inside = points.filter(([x, y]) => x >= west && x <= east && y >= south && y <= north);
  if (2 * inside.length >= points.length) return [west, south, east, north];
  const [across, up] = [0, 1].map((axis) => points.map((each) => each[axis]!).sort((a, b) => a - b));
  // A few strays would make the rest a dot.
  const [few, most] = [Math.floor(points.length / 20), Math.ceil((points.length * 19) / 20) - 1];
  return [
    Math.min(west, across![few]!),
    Math.min(south, up![few]!),
    Math.max(east, across![most]!),
    Math.max(north, up![most]!),
  ];
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
