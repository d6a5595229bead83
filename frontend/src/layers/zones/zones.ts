/** Layer of zones: counts of declared zones as a choropleth, from its GeoJSON file. */
import type { Feature, Geometry } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { drawHatch, hatchPattern } from "../../canvas/hatch";
import { shapePath } from "../../canvas/paths";
import { classEdges, classOf, rampStep, rampSteps } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import type { Scene } from "../../data/scene";
import type { Degrees } from "../../geometry/mercator";
import type { Place } from "../../geometry/place";
import { type Arrow, centreOf, contains, walk } from "../../geometry/shapes";
import { capitalise, formatMargin, formatNumber } from "../../ui/format";
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
import { doubtNote, plainRange } from "../uncertainty";

type Properties = {
  name?: string;
  estimate: number;
  margin?: number;
  threshold?: number;
};
type Zone = {
  id: number;
  feature: Feature<Geometry, Properties>;
  middle: Degrees;
  /** Its step of the ramp, or HATCHED where it cannot be told from zero. */
  step: number;
};

/** Takes the place of a step of the ramp; the map's filters rely on its being below zero. */
const HATCHED = -1;

const SOURCE = "zones";
const FILL = "zones";
const HATCH = "zones-hatch";
const LINE = "zones-line";
const PATTERN = "zones-hatch";

export const load: LoadLayer = async (layer, _release, scene) =>
  new Zones(layer.name, await loadShapes<Properties>(layer, scene), scene);

class Zones implements MapLayer {
  readonly shows: readonly Show[];
  readonly scales = true;
  private readonly zones: Zone[];
  private edges: number[] = [];
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;

  constructor(
    readonly name: string,
    features: Feature<Geometry, Properties>[],
    private readonly scene: Scene,
  ) {
    this.zones = features.map((feature, id) => ({ id, feature, middle: centreOf(feature.geometry), step: HATCHED }));
    const hasMargins = features.some(({ properties }) => properties.margin !== undefined);
    this.shows = hasMargins ? ["estimate", "margin"] : ["estimate"];
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    const coloured = this.zones.filter((zone) => style.show === "margin" || standsOut(zone));
    const values = coloured.map(({ feature: { properties } }) =>
      style.show === "margin" ? (properties.margin ?? 0) : properties.estimate,
    );
    this.edges = style.basis ? [...style.basis.edges] : classEdges(values, style.show === "estimate", style.scale);
    for (const zone of this.zones) zone.step = HATCHED;
    coloured.forEach((zone, at) => {
      zone.step = rampStep(classOf(values[at]!, this.edges), this.edges.length);
    });
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const values = { noun: t(this.scene.nouns.one) };
    const margin = this.style.show === "margin";
    return {
      title: margin ? t("Margin of error, {noun} per zone", values) : capitalise(t("{noun} per zone", values)),
      classes: legendClasses(this.edges, rampSteps(this.edges.length)),
      words: margin ? t("Larger is less certain") : "",
      keys: margin ? [] : [{ swatch: "hatch", words: t("Too few to tell from none") }],
      note: this.marginWords(),
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
    for (const { feature, step } of this.zones) {
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
    for (const { feature } of this.zones) pen.stroke(shapePath(feature.geometry, place));
    pen.restore();
  }

  at(position: Degrees): Spot | null {
    const zone = this.zones.find(({ feature }) => contains(feature.geometry, position));
    return zone ? this.spot(zone) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const start = from && this.zones.find(({ id }) => String(id) === from.key);
    const zone = walk(this.zones, start, arrow, times, near);
    return zone ? this.spot(zone) : null;
  }

  private spot(zone: Zone): Spot {
    const { id, feature, middle } = zone;
    const { name, estimate, margin } = feature.properties;
    const counting = t(this.scene.nouns.one);
    return {
      key: String(id),
      name: String(name ?? ""),
      figure: formatNumber(estimate),
      margin: margin === undefined ? counting : `${formatMargin(margin)} ${counting}`,
      note: doubtNote(estimate, standsOut(zone)),
      middle,
      outline: feature.geometry,
    };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    if (!map.getSource(SOURCE)) return;
    setFeatures(map, SOURCE, this.zones.map(({ id, feature: { geometry }, step }) => feature(geometry, { step }, id)));
    map.setPaintProperty(FILL, "fill-color", stepColours(palette));
    map.setPaintProperty(FILL, "fill-opacity", opacity);
    map.updateImage(PATTERN, hatchPattern(palette.hatch, devicePixelRatio));
    map.setPaintProperty(HATCH, "fill-opacity", opacity);
    map.setPaintProperty(LINE, "line-color", palette.land);
  }

  private marginWords(): string {
    const margins = this.zones.map(({ feature }) => feature.properties.margin ?? 0);
    if (this.shows.length === 1 || margins.length === 0) return "";
    return t("Every zone is give or take {range} {counting}.", { range: plainRange(margins), counting: t(this.scene.nouns.one) });
  }
}

function standsOut({ feature }: Zone): boolean {
  return feature.properties.estimate >= (feature.properties.threshold ?? -Infinity);
}
