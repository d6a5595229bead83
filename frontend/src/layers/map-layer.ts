/**
 * What every kind of layer on the map can do. One file implements it for each kind of content and
 * is named in `registry.ts`; the page, the legend, the flag, pictures and thumbnails know
 * layers only through these types.
 */
import type { Geometry } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import type { Scale } from "../colour/classes";
import type { Palette } from "../colour/ramps";
import type { Layer, ReleaseArray } from "../data/release-array";
import type { Scene } from "../data/scene";
import type { Degrees } from "../geometry/mercator";
import type { Bounds, Place } from "../geometry/place";
import type { Arrow } from "../geometry/shapes";

/** Counts, or how unsure they are. */
export type Show = "estimate" | "margin";

/** The classes of a layer, so that another can be drawn with the same. */
export type Basis = {
  edges: readonly number[];
  /** Side of the square on the ground that they are stated for; null where they are plain counts. */
  metres: number | null;
};

/** What the reader chose for how layers look. The ramp is part of the palette. */
export type Style = {
  show: Show;
  scale: Scale;
  /** Of what was released, not of the ground: 0 to 1. */
  opacity: number;
  /** Classes to take over rather than to work out, where two releases are compared. */
  basis?: Basis;
};

/** The style where a reader has no choice. */
export const PLAIN_STYLE: Style = { show: "estimate", scale: "log", opacity: 1 };

/** A class of the legend: where it begins and its step of the ramp. */
export type LegendClass = { from: number; step: number };

/** A row of the legend that is not the ramp; `swatch` is a class name of map.css. */
export type LegendKey = { swatch: string; words: string };

export type LegendContent = {
  title: string;
  classes: LegendClass[];
  /** What stands beside the ramp, such as "Stands out from noise". */
  words: string;
  keys: LegendKey[];
  /** How sure the figures are, in a sentence. */
  note: string;
};

/** What a flag says of one cell, zone, contour, cluster or point. */
export type Spot = {
  /** The same for the same feature. */
  key: string;
  /** Its name, or "" where it has none. */
  name: string;
  /** What it holds; "" where there is nothing to be said, such as outside the study area. */
  figure: string;
  margin: string;
  note: string;
  /** Where it is, in words to be spoken; its middle where that is enough. */
  middle: Degrees;
  /** What is outlined: a box in degrees, any shape, or a mark around the middle. */
  outline: Bounds | Geometry | null;
};

export interface MapLayer {
  readonly name: string;
  /** Which of "estimate" and "margin" can be shown; the control is left out for a single one. */
  readonly shows: readonly Show[];
  /** Whether a scale can be chosen for its classes. */
  readonly scales: boolean;

  /** Works out classes and colours. Called before anything below, and on every change. */
  restyle(style: Style, palette: Palette): void;

  legend(): LegendContent;
  /** The classes it was drawn with, of layers that have some to share. */
  basis?(): Basis | null;

  /** Adds itself to the interactive map, under the map layer of the id `before`. */
  mount(map: MapLibre, before: string): void;
  unmount(map: MapLibre): void;

  /**
   * The same picture on a 2D canvas, for thumbnails, pictures to keep, and where there is no
   * WebGL. `pixelRatio` device pixels make a CSS pixel; the pen is already scaled to those.
   */
  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void;

  /** What lies at a position; `metres` on the ground are a pixel's width, for small targets. */
  at(position: Degrees, metres: number): Spot | null;

  /** Where an arrow key leads from a spot, or where walking starts near a position. */
  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null;
}

/** What a layer's file exports as `load`. Raises an Error whose message is for the reader. */
export type LoadLayer = (layer: Layer, release: ReleaseArray, scene: Scene) => Promise<MapLayer>;
