/** Base of layers of regions: a choropleth in which regions without a value are hatched. */
import type { Feature, Geometry } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { drawHatch } from "../canvas/hatch";
import { shapePath } from "../canvas/paths";
import { classOf, rampStep } from "../colour/classes";
import type { Palette } from "../colour/ramps";
import type { Degrees } from "../geometry/mercator";
import type { Place } from "../geometry/place";
import { type Arrow, centreOf, contains, walk } from "../geometry/shapes";
import { HatchImage } from "./hatch-image";
import { collection, feature, setFeatures, stepColours } from "./map-features";
import { type Basis, type LegendContent, type MapLayer, PLAIN_STYLE, type Show, type Spot, type Style } from "./map-layer";

type Region<Properties> = {
  id: number;
  feature: Feature<Geometry, Properties>;
  middle: Degrees;
  /** Its step of the ramp, or HATCHED where it has no value. */
  step: number;
};

/** Takes the place of a step of the ramp; the map's filters rely on its being below zero. */
const HATCHED = -1;

const SOURCE = "regions";
const FILL = "regions";
const HATCH = "regions-hatch";
const LINE = "regions-line";
const PATTERN = "regions-hatch";

export abstract class Regions<Properties extends { name?: string }> implements MapLayer {
  abstract readonly shows: readonly Show[];
  abstract readonly scales: boolean;
  protected edges: number[] = [];
  protected style = PLAIN_STYLE;
  private readonly regions: Region<Properties>[];
  private palette: Palette | null = null;
  private map: MapLibre | null = null;
  private hatch: HatchImage | null = null;

  constructor(
    readonly name: string,
    features: Feature<Geometry, Properties>[],
  ) {
    this.regions = features.map((feature, id) => ({ id, feature, middle: centreOf(feature.geometry), step: HATCHED }));
  }

  abstract legend(): LegendContent;

  /** What a region is coloured by in the current style; null hatches it. */
  protected abstract value(properties: Properties): number | null;
  /** The lower edges of classes for such values. */
  protected abstract classes(values: number[]): number[];
  protected abstract words(properties: Properties): Pick<Spot, "figure" | "margin" | "note">;

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    const values = this.regions.map(({ feature }) => this.value(feature.properties));
    this.edges = style.basis ? [...style.basis.edges] : this.classes(values.filter((value) => value !== null));
    this.regions.forEach((region, at) => {
      const value = values[at]!;
      region.step = value === null ? HATCHED : rampStep(classOf(value, this.edges), this.edges.length);
    });
    if (this.map) this.repaint(this.map);
  }

  basis(): Basis {
    return { edges: this.edges, metres: null };
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    map.addSource(SOURCE, { type: "geojson", data: collection([]) });
    this.hatch = new HatchImage(map, PATTERN, this.palette!.hatch);
    map.addLayer({ id: FILL, type: "fill", source: SOURCE, filter: [">=", ["get", "step"], 0] }, before);
    map.addLayer(
      { id: HATCH, type: "fill", source: SOURCE, filter: ["<", ["get", "step"], 0], paint: { "fill-pattern": PATTERN } },
      before,
    );
    map.addLayer({ id: LINE, type: "line", source: SOURCE, paint: { "line-width": 1 } }, before);
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    for (const layer of [LINE, HATCH, FILL]) map.removeLayer(layer);
    this.hatch?.remove();
    this.hatch = null;
    map.removeSource(SOURCE);
  }

  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void {
    const palette = this.palette!;
    const hatched = new Path2D();
    pen.save();
    pen.globalAlpha = this.style.opacity;
    for (const { feature, step } of this.regions) {
      const path = shapePath(feature.geometry, place);
      if (step < 0) {
        hatched.addPath(path);
      } else {
        pen.fillStyle = palette.ramp[step]!;
        pen.fill(path, "evenodd");
      }
    }
    drawHatch(pen, hatched, place, palette.hatch, pixelRatio);
    pen.strokeStyle = palette.land;
    pen.lineWidth = 0.8;
    for (const { feature } of this.regions) pen.stroke(shapePath(feature.geometry, place));
    pen.restore();
  }

  at(position: Degrees): Spot | null {
    const region = this.regions.find(({ feature }) => contains(feature.geometry, position));
    return region ? this.spot(region) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const start = from && this.regions.find(({ id }) => String(id) === from.key);
    const region = walk(this.regions, start, arrow, times, near);
    return region ? this.spot(region) : null;
  }

  private spot({ id, feature: { geometry, properties }, middle }: Region<Properties>): Spot {
    return { key: String(id), name: String(properties.name ?? ""), ...this.words(properties), middle, outline: geometry };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    if (!map.getSource(SOURCE)) return;
    setFeatures(map, SOURCE, this.regions.map(({ id, feature: { geometry }, step }) => feature(geometry, { step }, id)));
    map.setPaintProperty(FILL, "fill-color", stepColours(palette));
    map.setPaintProperty(FILL, "fill-opacity", opacity);
    this.hatch?.paint(palette.hatch);
    map.setPaintProperty(HATCH, "fill-opacity", opacity);
    map.setPaintProperty(LINE, "line-color", palette.land);
  }
}
