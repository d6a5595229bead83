/** Layer of contour lines and the bands between them, from its GeoJSON file. */
import type { Feature, Geometry } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { drawHatch } from "../../canvas/hatch";
import { shapePath } from "../../canvas/paths";
import { rampStep } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import type { Scene } from "../../data/scene";
import type { Degrees } from "../../geometry/mercator";
import type { Place } from "../../geometry/place";
import { type Arrow, centreOf, contains, walk } from "../../geometry/shapes";
import { capitalise, formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import { HatchImage } from "../hatch-image";
import { setLabelImage } from "../label-image";
import { loadShapes } from "../load-shapes";
import { collection, feature, setFeatures, stepColours } from "../map-features";
import {
  type LegendContent,
  type LoadLayer,
  type MapLayer,
  PLAIN_STYLE,
  type Spot,
  type Style,
} from "../map-layer";

type Properties = {
  from_people_per_km2?: number;
  to_people_per_km2?: number;
  people_per_km2?: number;
};
type Contour = {
  id: number;
  /** People per square kilometre on the line, or at the band's lower edge. */
  from: number;
  /** The band's upper edge; null for a line. */
  to: number | null;
  geometry: Geometry;
  step: number;
};

/** Where walking by arrow keys may stop: a contour, or the position it starts from. */
type Stop = { contour: Contour | null; middle: Degrees };

const SOURCE = "contours";
const AREA = "contours-area";
const HATCH = "contours-hatch";
const FILL = "contours-fill";
const LINE = "contours-line";
const LABEL = "contours-label";
const PATTERN = "contours-hatch";

/** Pixels along a line from one label to the next, and around each that is free of others. */
const LABEL_SPACING = 600;
const LABEL_ROOM = 36;

export const load: LoadLayer = async (layer, _release, scene) =>
  new Contours(layer.name, await loadShapes<Properties>(layer, scene), scene);

class Contours implements MapLayer {
  readonly shows = ["estimate"] as const;
  readonly scales = false;
  private readonly contours: Contour[];
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;
  private hatch: HatchImage | null = null;

  constructor(
    readonly name: string,
    features: Feature<Geometry, Properties>[],
    private readonly scene: Scene,
  ) {
    this.contours = features.map(({ geometry, properties }, id) => ({
      id,
      geometry,
      from: properties.from_people_per_km2 ?? properties.people_per_km2 ?? 0,
      to: properties.to_people_per_km2 ?? null,
      step: rampStep(id, features.length),
    }));
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    return {
      title: capitalise(t("{noun} per square kilometre", { noun: t(this.scene.nouns.sum) })),
      classes: this.contours.map(({ from, step }) => ({ from: round(from), step })),
      words: t("Bands between contour lines"),
      keys: [{ swatch: "hatch", words: t("Below the lowest line") }],
      note: "",
    };
  }

  /** No classes to share: the release itself fixes the values of its lines. */
  basis(): null {
    return null;
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    map.addSource(AREA, { type: "geojson", data: this.scene.basemap.inside });
    map.addSource(SOURCE, { type: "geojson", data: collection([]), tolerance: 0.2 });
    this.hatch = new HatchImage(map, PATTERN, this.palette!.hatch);
    map.addLayer({ id: HATCH, type: "fill", source: AREA, paint: { "fill-pattern": PATTERN } }, before);
    map.addLayer({ id: FILL, type: "fill", source: SOURCE, filter: ["get", "band"] }, before);
    map.addLayer({ id: LINE, type: "line", source: SOURCE, paint: { "line-width": 1 } }, before);
    map.addLayer(
      {
        id: LABEL,
        type: "symbol",
        source: SOURCE,
        layout: {
          "symbol-placement": "line",
          "symbol-spacing": LABEL_SPACING,
          "icon-image": ["concat", "contour-", ["to-string", ["get", "id"]]],
          "icon-padding": LABEL_ROOM,
          "symbol-sort-key": ["-", 0, ["get", "id"]],
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
    for (const layer of [LABEL, LINE, FILL, HATCH]) map.removeLayer(layer);
    this.hatch?.remove();
    this.hatch = null;
    for (const image of this.contours.map(labelName)) {
      if (map.hasImage(image)) map.removeImage(image);
    }
    map.removeSource(SOURCE);
    map.removeSource(AREA);
  }

  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void {
    const palette = this.palette!;
    pen.save();
    pen.globalAlpha = this.style.opacity;
    drawHatch(pen, shapePath(this.scene.basemap.inside, place), place, palette.hatch, pixelRatio);
    for (const { geometry, step, to } of this.contours) {
      const path = shapePath(geometry, place);
      if (to !== null) {
        pen.fillStyle = palette.ramp[step]!;
        pen.fill(path, "evenodd");
      }
      pen.strokeStyle = to === null ? palette.ramp[step]! : palette.land;
      pen.lineWidth = 0.8;
      pen.stroke(path);
    }
    pen.restore();
  }

  at(position: Degrees): Spot | null {
    const contour = this.contours.find(({ geometry }) => contains(geometry, position));
    return contour ? this.spot(contour, position) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const places: Stop[] = this.contours.map((contour) => ({ contour, middle: centreOf(contour.geometry) }));
    const start = from && { contour: null, middle: from.middle };
    const stop = walk(places, start, arrow, times, near);
    return stop?.contour ? this.spot(stop.contour, stop.middle) : from;
  }

  private spot({ id, from, to, geometry }: Contour, middle: Degrees): Spot {
    const [low, high] = [formatNumber(round(from)), formatNumber(round(to ?? from))];
    return {
      key: String(id),
      name: "",
      figure: to === null ? low : t("{low} to {high}", { low, high }),
      margin: t("{noun} per square kilometre", { noun: t(this.scene.nouns.sum) }),
      note: "",
      middle,
      outline: geometry,
    };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    if (!map.getSource(SOURCE)) return;
    for (const contour of this.contours) {
      setLabelImage(map, labelName(contour), formatNumber(round(contour.from)), palette);
    }
    setFeatures(
      map,
      SOURCE,
      this.contours.map(({ id, geometry, step, to }) => feature(geometry, { id, step, band: to !== null })),
    );
    const colour = stepColours(palette);
    map.setPaintProperty(FILL, "fill-color", colour);
    map.setPaintProperty(FILL, "fill-opacity", opacity);
    map.setPaintProperty(LINE, "line-color", ["case", ["get", "band"], palette.land, colour]);
    map.setPaintProperty(HATCH, "fill-opacity", opacity);
    this.hatch?.paint(palette.hatch);
  }
}

function labelName({ id }: Contour): string {
  return `contour-${id}`;
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}
