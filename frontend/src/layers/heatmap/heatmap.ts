/** Heatmap: cells and boxes of cells, coloured where counts reach the threshold, else hatched. */
import type { Map as MapLibre } from "maplibre-gl";
import type { Palette } from "../../colour/ramps";
import type { Scene } from "../../data/scene";
import { type Box, NOWHERE, Surface } from "../../data/surface";
import { groundCell } from "../../geometry/grid";
import { type Degrees, toDegrees, toMercator } from "../../geometry/mercator";
import type { Bounds, Place } from "../../geometry/place";
import type { Arrow } from "../../geometry/shapes";
import { t } from "../../ui/translate";
import {
  type Basis,
  legendClasses,
  type LegendContent,
  type LoadLayer,
  type MapLayer,
  PLAIN_STYLE,
  type Spot,
  type Style,
  type Wording,
} from "../map-layer";
import { type CellImage, paintCells } from "./cell-image";
import { cellsPicture, landMask } from "./cell-picture";
import { HeatmapLayer } from "./webgl-layer";
import { legendTitle, marginSentence, speak } from "./words";

type Cell = { row: number; column: number };

export const load: LoadLayer = (layer, { grid, inside }, scene) => {
  if (!grid || (layer.shape !== "cells" && layer.shape !== "boxes")) {
    throw new Error(`The layer ${layer.name} has no cells.`);
  }
  return Promise.resolve(new Heatmap(new Surface(grid, inside, layer), scene));
};

export class Heatmap implements MapLayer {
  readonly shows = ["estimate", "margin"] as const;
  readonly scales = true;
  private image: CellImage | null = null;
  private painted = "";
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private drawn: HeatmapLayer | null = null;

  constructor(
    private readonly surface: Surface,
    private readonly scene: Scene,
    /** What it says instead, where its values are not counts as they were drawn. */
    private readonly wording: Wording | null = null,
  ) {}

  get name(): string {
    return this.surface.layer.name;
  }

  restyle(style: Style, palette: Palette): void {
    const { opacity, ...painted } = style;
    const wanted = JSON.stringify(painted);
    if (wanted !== this.painted) {
      this.image = paintCells(this.surface, style);
      this.painted = wanted;
    }
    this.style = style;
    this.palette = palette;
    this.drawn?.show(this.image!, palette, opacity);
  }

  legend(): LegendContent {
    const { edges, steps, square } = this.image!;
    const { show } = this.style;
    const { layer } = this.surface;
    const { nouns } = this.scene;
    const keys = show === "margin" ? [] : [{ swatch: "hatch", words: t("Too few to tell from none") }];
    if (this.wording) return { classes: legendClasses(edges, steps), words: "", keys, ...this.wording.legend(square.side) };
    return {
      title: legendTitle(show, nouns, square, layer),
      classes: legendClasses(edges, steps),
      words: show === "margin" ? t("Larger is less certain") : "",
      keys,
      note: marginSentence(layer, this.surface.marginsShown(), nouns, square),
    };
  }

  basis(): Basis {
    const { edges, square } = this.image!;
    return { edges, metres: square.metres };
  }

  mount(map: MapLibre, before: string): void {
    const { grid } = this.surface;
    this.drawn = new HeatmapLayer(grid, this.scene.basemap.land, this.image!, this.palette!, this.style.opacity);
    map.addLayer(this.drawn, before);
  }

  unmount(map: MapLibre): void {
    if (this.drawn) map.removeLayer(this.drawn.id);
    this.drawn = null;
  }

  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void {
    const land = landMask(this.scene.basemap.land, place, pixelRatio);
    const cells = cellsPicture(
      this.image!, this.surface.grid, place, pixelRatio, this.palette!, land,
    );
    pen.globalAlpha = this.style.opacity;
    pen.drawImage(cells, 0, 0, place.width, place.height);
    pen.globalAlpha = 1;
  }

  at(position: Degrees): Spot | null {
    const spot = this.spot(this.cellAt(position));
    return spot.figure ? spot : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot {
    const start = this.within(this.cellAt(from ? from.middle : near));
    return this.spot(from ? this.walk(start, arrow, times) : start);
  }

  /** The next box in a direction: arrows walk from box to box, whatever their sizes. */
  private walk(from: Cell, [down, right]: Arrow, times: number): Cell {
    let { row, column } = from;
    for (let walked = 0; walked < times; walked++) {
      const box = this.surface.at(row, column);
      const edges =
        box === NOWHERE
          ? { top: row, bottom: row + 1, left: column, right: column + 1 }
          : this.surface.edges(box);
      if (down) row = down > 0 ? edges.bottom : edges.top - 1;
      if (right) column = right > 0 ? edges.right : edges.left - 1;
    }
    return this.within({ row, column });
  }

  private spot({ row, column }: Cell): Spot {
    const box = this.surface.at(row, column);
    const middle = this.degrees(column + 0.5, row + 0.5);
    if (box === NOWHERE) {
      const note = t("outside the study area");
      return { key: "", name: "", figure: "", margin: "", note, middle, outline: null };
    }
    const reading = this.surface.read(box);
    const { layer, grid } = this.surface;
    const { square } = this.image!;
    const words = this.wording
      ? this.wording.words(reading.value, reading.standsOut, t("in this {side} square", { side: square.side }), box)
      : speak(reading, layer, this.scene.nouns, square, groundCell(grid));
    return { key: String(box), name: "", ...words, middle, outline: this.bounds(reading.box) };
  }

  private cellAt(position: Degrees): Cell {
    const { grid } = this.surface;
    const { x, y } = toMercator(position);
    return {
      row: Math.floor((grid.north - y) / grid.cell),
      column: Math.floor((x - grid.west) / grid.cell),
    };
  }

  private within({ row, column }: Cell): Cell {
    const { rows, columns } = this.surface.grid;
    return {
      row: Math.min(rows - 1, Math.max(0, row)),
      column: Math.min(columns - 1, Math.max(0, column)),
    };
  }

  private degrees(column: number, row: number): Degrees {
    const { grid } = this.surface;
    return toDegrees(grid.west + column * grid.cell, grid.north - row * grid.cell);
  }

  private bounds({ top, bottom, left, right }: Box): Bounds {
    const northWest = this.degrees(left, top);
    const southEast = this.degrees(right, bottom);
    return [northWest.longitude, southEast.latitude, southEast.longitude, northWest.latitude];
  }
}
