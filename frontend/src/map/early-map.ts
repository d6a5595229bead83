/**
 * What a phone shows before a map's data have come: the picture that the server keeps of it, on a
 * map as soon as the library is there. It takes the place of the picture in the page, which can be
 * moved before (movable-picture.ts).
 */
import type { Map as MapLibre } from "maplibre-gl";
import type { Basemap } from "../data/basemap";
import type { OpenRelease } from "../data/open-release";
import { plainNouns } from "../data/release-array";
import { toDegrees } from "../geometry/mercator";
import type { Bounds, Place, View } from "../geometry/place";
import type { LegendContent, MapLayer } from "../layers/map-layer";
import { type MovablePicture, PICTURED } from "./movable-picture";
import { InteractiveStage, type MapModule, SETTLING } from "./stage";

/** As map.css turns the picture dark. */
const DARKENED = "invert(0.92) hue-rotate(180deg)";

export class EarlyMap {
  private stage: InteractiveStage | null = null;
  private over = false;

  constructor(private readonly frame: HTMLElement, private readonly picture: MovablePicture) {}

  /** Puts the picture on a map when that is there, which takes its place where the reader has moved it. */
  async show(library: Promise<MapModule | null>, ground: Promise<Basemap>): Promise<void> {
    const { frame, picture } = this;
    const [module, basemap, seen] = await Promise.all([library, ground, picture.seen()]);
    if (!seen || !module || this.over) return;
    const layer = new PictureLayer(picture.image, picture.corner);
    this.stage = InteractiveStage.put(frame, emptyRelease(picture.bounds, basemap), layer, picture.view(), module);
    if (!this.stage) return;
    frame.dataset.state = "pictured";
    this.handOver(this.stage.map);
  }

  /** What the picture shows, or showed at last. */
  view(): View {
    return this.picture.view();
  }

  /** The map, if it stands; otherwise it is not put up any more. */
  end(): InteractiveStage | null {
    this.over = true;
    return this.stage;
  }

  /** Removes the picture of a map that was not put up; another one takes its place. */
  clear(): void {
    if (!this.stage) this.picture.remove();
  }

  /** Removes the picture once the map beneath is drawn, shows the same, and nobody moves the picture. */
  private handOver(map: MapLibre): void {
    const { picture } = this;
    let given = picture.moves;
    const settle = (): void => {
      if (picture.moves === given) return picture.remove();
      given = picture.moves;
      const { longitude, latitude, zoom } = picture.view();
      map.once("idle", left);
      map.jumpTo({ center: [longitude, latitude], zoom }, SETTLING);
    };
    const left = (): void => picture.whenLeft(settle);
    map.once("idle", left);
    // Whoever moves the map itself, by its buttons, wants to see it.
    map.on("movestart", (event) => {
      if (!("settling" in event)) picture.remove();
    });
  }
}

/** The server's picture as a layer. It has names and a coast of its own and so lies over everything. */
class PictureLayer implements MapLayer {
  readonly name = "picture";
  readonly shows = ["estimate"] as const;
  readonly scales = false;

  constructor(private readonly image: HTMLImageElement, private readonly corner: Place) {}

  mount(map: MapLibre): void {
    const { west, north, perPixel, width, height } = this.corner;
    const at = (x: number, y: number): [number, number] => {
      const { longitude, latitude } = toDegrees(west + x * perPixel, north - y * perPixel);
      return [longitude, latitude];
    };
    map.addSource(this.name, {
      type: "canvas",
      canvas: this.cut(),
      animate: false,
      coordinates: [at(0, 0), at(width, 0), at(width, height), at(0, height)],
    });
    map.addLayer({ id: this.name, type: "raster", source: this.name, paint: { "raster-fade-duration": 0 } });
  }

  unmount(map: MapLibre): void {
    map.removeLayer(this.name);
    map.removeSource(this.name);
  }

  restyle(): void {}

  legend(): LegendContent {
    return { title: "", classes: [], words: "", keys: [], note: "" };
  }

  draw(): void {}

  at(): null {
    return null;
  }

  step(): null {
    return null;
  }

  /** The picture without the title above its map and the legend below. */
  private cut(): HTMLCanvasElement {
    const { width, height } = this.corner;
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d", { willReadFrequently: true })!;
    if (matchMedia("(prefers-color-scheme: dark)").matches) pen.filter = DARKENED;
    pen.drawImage(this.image, 0, PICTURED.head, width, height, 0, 0, width, height);
    return canvas;
  }
}

/** What is known of a release before its data have come. */
function emptyRelease(bounds: Bounds, basemap: Basemap): OpenRelease {
  const area = { type: "MultiPolygon" as const, coordinates: [] };
  const shared = { bounds, area, counting: "people" as const, nouns: plainNouns("people") };
  return {
    release: { ...shared, grid: null, inside: null, layers: [] },
    scene: { ...shared, basemap, urlOf: (file) => file },
  };
}
