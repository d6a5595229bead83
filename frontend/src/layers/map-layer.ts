/**
 * Interface of map layers. Each kind of content implements it in a folder of its own and is named in
 * `registry.ts`; pages, legend, flag, pictures and thumbnails know layers only through these types.
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

/** Counts, or their margins of error. */
export type Show = "estimate" | "margin";

/** Classes of a layer, for drawing another one with the same. */
export type Basis = {
  edges: readonly number[];
  /** Side of the square that the edges are stated for; null where they are counts of whole features. */
  metres: number | null;
};

/** Choices of the reader about the looks of layers. The ramp is part of the palette. */
export type Style = {
  show: Show;
  scale: Scale;
  /** Opacity of what was released, not of the ground: 0 to 1. */
  opacity: number;
  /** Side of the square that counts of boxes are stated for; left out, they are stated for a cell. */
  metres?: number;
  /** Classes to take over rather than to compute: those that the page opens with, or of the release that is compared with. */
  basis?: Basis;
};

/** The style where a reader has no choice. */
export const PLAIN_STYLE: Style = { show: "estimate", scale: "log", opacity: 1 };

/**
 * A class of the legend: its step of the ramp, and its lower edge where the legend states it. Of the
 * lowest class it is left out, for that begins wherever the lowest value lies.
 */
export type LegendClass = { from: number | null; step: number };

export function legendClasses(edges: readonly number[], steps: readonly number[]): LegendClass[] {
  return edges.map((from, at) => ({ from: at || edges.length === 1 ? from : null, step: steps[at]! }));
}

/** A row of the legend that is not the ramp; `swatch` is a class name of map.css, `size` its width in pixels. */
export type LegendKey = { swatch: string; words: string; size?: number };

export type LegendContent = {
  title: string;
  classes: LegendClass[];
  /** What stands beside the ramp, such as "Larger is less certain"; mostly "". */
  words: string;
  keys: LegendKey[];
  /** The margin of error of the figures, in a sentence. */
  note: string;
};

/** One cell, zone, contour, cluster or point, as a flag describes it. */
export type Spot = {
  /** Identifies the feature within its layer. */
  key: string;
  /** Its name, or "" where it has none. */
  name: string;
  /** Its count or value; "" where there is none, as outside the study area. */
  figure: string;
  margin: string;
  note: string;
  /** A position in it, which is spoken and to which the map moves. */
  middle: Degrees;
  /** What is outlined: a box in degrees, a shape, or for null a mark around the middle. */
  outline: Bounds | Geometry | null;
};

export interface MapLayer {
  readonly name: string;
  /** Which of "estimate" and "margin" can be shown; the control is left out for a single one. */
  readonly shows: readonly Show[];
  /** Whether a scale can be chosen for its classes. */
  readonly scales: boolean;

  /** Computes classes and colours. Called before anything below, and on every change. */
  restyle(style: Style, palette: Palette): void;

  legend(): LegendContent;
  /** The classes that it is drawn with, of layers that can share them. */
  basis?(): Basis | null;

  /** Adds the layer to the interactive map, under the map layer with the id `before`. */
  mount(map: MapLibre, before: string): void;
  unmount(map: MapLibre): void;

  /**
   * Draws the same picture on a 2D canvas, for thumbnails, image files and browsers without
   * WebGL. `pixelRatio` device pixels make a CSS pixel; the pen is already scaled to those.
   */
  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void;

  /** The feature at a position; `metres` is a pixel's width on the ground, for small targets. */
  at(position: Degrees, metres: number): Spot | null;

  /** Chooses what lies at a position, in layers that show one region at a time; says whether anything changed. */
  choose?(position: Degrees): boolean;

  /** The feature that an arrow key leads to from another, or near a position at first. */
  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null;
}

/** What a layer says whose values are not counts as they were drawn. */
export type Wording = {
  /** `side` is that of a square in words, "" of zones. */
  legend(side: string): Pick<LegendContent, "title" | "note"> & Partial<LegendContent>;
  /** `place` says where, such as "in this 100 m square"; "" of zones. `region` is its index in the layer. */
  words(value: number, standsOut: boolean, place: string, region: number): Pick<Spot, "figure" | "margin" | "note">;
};

/** The function that each kind exports as `load`. Throws an Error whose message is for the reader. */
export type LoadLayer = (layer: Layer, release: ReleaseArray, scene: Scene) => Promise<MapLayer>;
