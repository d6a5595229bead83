/** Layer of the notification radius: bands and lines in metres, hatched where out of reach. */
import type { Geometry } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { drawHatch } from "../canvas/hatch";
import { shapePath } from "../canvas/paths";
import { rampStep } from "../colour/classes";
import type { Palette } from "../colour/ramps";
import type { RadiusMap } from "../data/api";
import type { Ground } from "../data/scene";
import { circleAround } from "../geometry/circles";
import type { Degrees } from "../geometry/mercator";
import type { Place } from "../geometry/place";
import { type Arrow, contains } from "../geometry/shapes";
import { HatchImage } from "../layers/hatch-image";
import { setLabelImage } from "../layers/label-image";
import { collection, feature, setFeatures, stepColours } from "../layers/map-features";
import { type LegendContent, legendClasses, type MapLayer, PLAIN_STYLE, type Spot, type Style } from "../layers/map-layer";
import { formatMetres, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import { nearestPoint, type Points, valueAt } from "./radius-values";

type Band = { from: number; geometry: Geometry; step: number };
type Line = { metres: number; geometry: Geometry };

const BANDS = "radius-bands";
const LINES = "radius-lines";
const REST = "radius-rest";
const FILL = "radius-fill";
const EDGE = "radius-edge";
const LINE = "radius-line";
const LABEL = "radius-label";
const HATCH = "radius-hatch";
const PATTERN = "radius-hatch";
const LABEL_SPACING = 450;
const LABEL_ROOM = 30;
/** Corners of the circle that a flag stands by. */
const CORNERS = 72;

export class RadiusLayer implements MapLayer {
  readonly name = "radius";
  readonly shows = ["estimate"] as const;
  readonly scales = false;
  private readonly bands: Band[];
  private readonly lines: Line[];
  private readonly rest: Geometry[];
  private readonly points: Points;
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;
  private hatch: HatchImage | null = null;

  constructor({ features, points }: RadiusMap, private readonly ground: Ground) {
    const geometries = (kind: string) =>
      features.filter(({ properties }) => properties.feature === kind).map(({ properties, geometry }) => ({
        properties,
        geometry: geometry as unknown as Geometry,
      }));
    const bands = geometries("band");
    this.bands = bands.map(({ properties, geometry }, at) => ({
      from: properties.from_metres!,
      geometry,
      // The strongest colour is where the fewest metres do, as on the map of density.
      step: rampStep(bands.length - 1 - at, bands.length),
    }));
    this.lines = geometries("line").map(({ properties, geometry }) => ({ metres: properties.metres!, geometry }));
    this.rest = geometries("out_of_reach").map(({ geometry }) => geometry);
    this.points = points!;
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const { bands, rest } = this;
    return {
      title: t("Notification radius, in metres"),
      classes: legendClasses(bands.map(({ from }) => from), bands.map(({ step }) => step)),
      words: "",
      keys: rest.length ? [{ swatch: "hatch", words: t("Out of reach: nobody near enough accepts") }] : [],
      note: t("Radii follow from the released map and share its noise; they have no margin of their own."),
    };
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    const palette = this.palette!;
    for (const source of [REST, BANDS, LINES]) map.addSource(source, { type: "geojson", data: collection([]), tolerance: 0.2 });
    this.hatch = new HatchImage(map, PATTERN, palette.hatch);
    map.addLayer({ id: HATCH, type: "fill", source: REST, paint: { "fill-pattern": PATTERN } }, before);
    map.addLayer({ id: FILL, type: "fill", source: BANDS }, before);
    map.addLayer({ id: EDGE, type: "line", source: REST, paint: { "line-width": 1.2 } }, before);
    map.addLayer({ id: LINE, type: "line", source: LINES, paint: { "line-width": 1 } }, before);
    map.addLayer(
      {
        id: LABEL,
        type: "symbol",
        source: LINES,
        layout: {
          "symbol-placement": "line",
          "symbol-spacing": LABEL_SPACING,
          "icon-image": ["concat", "radius-", ["to-string", ["get", "metres"]]],
          "icon-padding": LABEL_ROOM,
          "icon-rotation-alignment": "map",
          "icon-keep-upright": true,
        },
      },
      before,
    );
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    for (const layer of [LABEL, LINE, EDGE, FILL, HATCH]) map.removeLayer(layer);
    this.hatch?.remove();
    this.hatch = null;
    for (const image of this.lines.map(labelName)) {
      if (map.hasImage(image)) map.removeImage(image);
    }
    for (const source of [LINES, BANDS, REST]) map.removeSource(source);
  }

  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void {
    const palette = this.palette!;
    pen.save();
    pen.globalAlpha = this.style.opacity;
    for (const shape of this.rest) drawHatch(pen, shapePath(shape, place), place, palette.hatch, pixelRatio);
    for (const { geometry, step } of this.bands) {
      pen.fillStyle = palette.ramp[step]!;
      pen.fill(shapePath(geometry, place), "evenodd");
    }
    pen.strokeStyle = palette.land;
    pen.lineWidth = 0.8;
    for (const { geometry } of this.lines) pen.stroke(shapePath(geometry, place));
    pen.restore();
  }

  at(position: Degrees): Spot | null {
    if (!contains(this.ground.area, position)) return null;
    const within = !this.rest.some((shape) => contains(shape, position));
    const value = valueAt(this.points, position, within) ?? valueAt(this.points, position, !within);
    return value && this.spot(position, value);
  }

  step(from: Spot | null, [down, right]: Arrow, times: number, near: Degrees): Spot | null {
    const { longitude, latitude } = this.points;
    const { row, column } = nearestPoint(this.points, from?.middle ?? near);
    const limit = (value: number, axis: readonly number[]): number => Math.max(0, Math.min(axis.length - 1, value));
    const steps = from ? times : 0;
    const x = longitude[limit(column + right * steps, longitude)]!;
    const middle = { longitude: x > 180 ? x - 360 : x, latitude: latitude[limit(row - down * steps, latitude)]! };
    return this.at(middle) ?? from;
  }

  private spot(middle: Degrees, value: NonNullable<ReturnType<typeof valueAt>>): Spot {
    const key = `${middle.longitude},${middle.latitude}`;
    if ("explanation" in value) {
      return { key, name: "", figure: t("Out of reach"), margin: "", note: t(value.explanation), middle, outline: null };
    }
    const ring = circleAround(middle, value.metres, CORNERS);
    return {
      key,
      name: "",
      figure: formatMetres(value.metres),
      margin: t("around"),
      note: t("{count} people asked", { count: formatNumber(value.notified) }),
      middle,
      outline: { type: "Polygon", coordinates: [ring] },
    };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    if (!map.getSource(BANDS)) return;
    for (const line of this.lines) setLabelImage(map, labelName(line), formatMetres(line.metres), palette);
    setFeatures(map, REST, this.rest.map((geometry) => feature(geometry)));
    setFeatures(map, BANDS, this.bands.map(({ geometry, step }) => feature(geometry, { step })));
    setFeatures(map, LINES, this.lines.map(({ geometry, metres }) => feature(geometry, { metres })));
    map.setPaintProperty(FILL, "fill-color", stepColours(palette));
    map.setPaintProperty(FILL, "fill-opacity", opacity);
    map.setPaintProperty(HATCH, "fill-opacity", opacity);
    map.setPaintProperty(EDGE, "line-color", palette.hatch);
    map.setPaintProperty(LINE, "line-color", palette.land);
    this.hatch?.paint(palette.hatch);
  }
}

function labelName({ metres }: Line): string {
  return `radius-${metres}`;
}
