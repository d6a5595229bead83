/** Layer of averages: the mean of a measure in each zone or square, from its GeoJSON file. */
import type { Feature, Geometry } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { drawHatch, hatchPattern } from "../../canvas/hatch";
import { shapePath } from "../../canvas/paths";
import { classEdges, classOf, rampStep, rampSteps } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import type { Degrees } from "../../geometry/mercator";
import type { Place } from "../../geometry/place";
import { type Arrow, centreOf, contains, walk } from "../../geometry/shapes";
import { formatNumber, formatValue } from "../../ui/format";
import { t } from "../../ui/translate";
import { loadShapes } from "../load-shapes";
import { collection, feature, setFeatures, stepColours } from "../map-features";
import {
  type Basis,
  legendClasses,
  type LegendContent,
  type LoadLayer,
  type MapLayer,
  PLAIN_STYLE,
  type Show,
  type Spot,
  type Style,
} from "../map-layer";

/** Mean and interval are null where there are too few records for a mean. */
export type Properties = {
  name?: string;
  mean: number | null;
  mean_low: number | null;
  mean_high: number | null;
  records: number;
  records_margin: number;
};

type Region = {
  id: number;
  feature: Feature<Geometry, Properties>;
  middle: Degrees;
  /** Its step of the ramp, or HATCHED where no mean is told. */
  step: number;
};

/** Takes the place of a step of the ramp; the map's filters rely on its being below zero. */
const HATCHED = -1;

const SOURCE = "averages";
const FILL = "averages";
const HATCH = "averages-hatch";
const LINE = "averages-line";
const PATTERN = "averages-hatch";

export const load: LoadLayer = async (layer, _release, scene) =>
  new Averages(layer.name, layer.title, layer.unit ?? "", await loadShapes<Properties>(layer, scene));

export class Averages implements MapLayer {
  readonly shows: readonly Show[] = ["estimate", "margin"];
  readonly scales = false;
  private readonly regions: Region[];
  private edges: number[] = [];
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;

  constructor(
    readonly name: string,
    private readonly title: string,
    private readonly unit: string,
    features: Feature<Geometry, Properties>[],
  ) {
    this.regions = features.map((feature, id) => ({ id, feature, middle: centreOf(feature.geometry), step: HATCHED }));
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    const told = this.regions.filter(({ feature }) => feature.properties.mean !== null);
    const values = told.map(({ feature: { properties } }) => (style.show === "margin" ? halfWidth(properties) : properties.mean!));
    this.edges = style.basis ? [...style.basis.edges] : classEdges(values, false, "linear");
    for (const region of this.regions) region.step = HATCHED;
    told.forEach((region, at) => {
      region.step = rampStep(classOf(values[at]!, this.edges), this.edges.length);
    });
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const margin = this.style.show === "margin";
    return {
      title: margin ? t("Margin of error, {what}", { what: this.title }) : this.title,
      classes: legendClasses(this.edges, rampSteps(this.edges.length)),
      words: margin ? t("Larger is less certain") : "",
      keys: [{ swatch: "hatch", words: t("No estimate: too few records") }],
      note: t("Press a region to see where its true average lies, 95 times in 100."),
    };
  }

  basis(): Basis {
    return { edges: this.edges, metres: null };
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    map.addSource(SOURCE, { type: "geojson", data: collection([]) });
    map.addImage(PATTERN, hatchPattern(this.palette!.hatch, devicePixelRatio), { pixelRatio: devicePixelRatio });
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
    map.removeImage(PATTERN);
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

  private spot({ id, feature, middle }: Region): Spot {
    return {
      key: String(id),
      name: String(feature.properties.name ?? ""),
      ...spotWords(feature.properties, this.unit),
      middle,
      outline: feature.geometry,
    };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    if (!map.getSource(SOURCE)) return;
    setFeatures(map, SOURCE, this.regions.map(({ id, feature: { geometry }, step }) => feature(geometry, { step }, id)));
    map.setPaintProperty(FILL, "fill-color", stepColours(palette));
    map.setPaintProperty(FILL, "fill-opacity", opacity);
    map.updateImage(PATTERN, hatchPattern(palette.hatch, devicePixelRatio));
    map.setPaintProperty(HATCH, "fill-opacity", opacity);
    map.setPaintProperty(LINE, "line-color", palette.land);
  }
}

/** The figure of a region with its interval, or that there is none, in words. */
export function spotWords(properties: Properties, unit: string): Pick<Spot, "figure" | "margin" | "note"> {
  const { mean, mean_low: low, mean_high: high, records, records_margin: margin } = properties;
  const about = t("about {count} records, give or take {margin}", {
    count: formatNumber(Math.max(0, Math.round(records))),
    margin: formatNumber(Math.max(1, Math.round(margin))),
  });
  if (mean === null || low === null || high === null) {
    return { figure: t("No estimate"), margin: "", note: t("too few records") };
  }
  const width = high - low;
  const values = { low: formatValue(low, width), high: formatValue(high, width) };
  return {
    figure: [formatValue(mean, width), unit].filter(Boolean).join("\u00a0"),
    margin: t("between {low} and {high}", values),
    note: about,
  };
}

function halfWidth({ mean_low, mean_high }: Properties): number {
  return (mean_high! - mean_low!) / 2;
}
