/**
 * Layer of perturbed points: a dot for each report, and the circles within which half and 95 % of
 * them were moved; or of drawn places: a dot for each, with an area by how often it was drawn.
 */
import type { MultiPolygon } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { shapePath } from "../../canvas/paths";
import type { Palette } from "../../colour/ramps";
import { type PointLayer, positionOf } from "../../data/release-array";
import type { Scene } from "../../data/scene";
import { circleAround, degreesOf } from "../../geometry/circles";
import { type Degrees, distanceNearby } from "../../geometry/mercator";
import { type Bounds, pixelOf, type Place } from "../../geometry/place";
import { type Arrow, walk } from "../../geometry/shapes";
import { formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import { collection, feature } from "../map-features";
import {
  type Basis,
  type LegendContent,
  type LoadLayer,
  type MapLayer,
  PLAIN_STYLE,
  type Show,
  type Spot,
  type Style,
} from "../map-layer";

/** Radii in pixels of a report's dot and of the largest place's, and the reach of the pointer. */
const RADIUS = 2.5;
const LARGEST = 14;
const REACH = 8;

/** Corners of a circle. */
const CORNERS = 72;

/** Name of the layer of drawn places, which repeat and stand for no particular person. */
const DRAWN = "places";

const DOTS = "points";
const CIRCLES = "points-noise";

type Point = { key: string; middle: Degrees; times: number; radius: number };

/** Metres within which half and 95 % of the points were moved. */
type Radii = { near: number; far: number };

type Statement = { spends: { noise: { radius_50_metres?: number; radius_95_metres?: number } | null }[] };

export const load: LoadLayer = async (layer, _release, scene) => {
  if (layer.shape !== "points") throw new Error(`The layer ${layer.name} has no points.`);
  const radii = layer.name === DRAWN ? null : await fetchRadii(scene.urlOf("statement.json"));
  return new Points(layer, radii, scene);
};

/** The radii of the perturbation, from the privacy statement; null where it has none. */
async function fetchRadii(url: string): Promise<Radii | null> {
  const response = await fetch(url).catch(() => null);
  if (!response?.ok) return null;
  const { spends } = (await response.json()) as Statement;
  const noise = spends.map((spend) => spend.noise).find((each) => each?.radius_95_metres);
  return noise ? { near: noise.radius_50_metres!, far: noise.radius_95_metres! } : null;
}

class Points implements MapLayer {
  readonly name: string;
  readonly shows: readonly Show[] = ["estimate"];
  readonly scales = false;
  private readonly points: Point[];
  private readonly sample: MultiPolygon | null;
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;

  constructor(private readonly layer: PointLayer, private readonly radii: Radii | null, scene: Scene) {
    this.name = layer.name;
    this.points = this.drawn ? placesOf(layer) : reportsOf(layer);
    this.sample = radii && circles(corner(scene.bounds, radii.far), radii);
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const { of, positions, title } = this.layer;
    const shown = positions.length / 2;
    if (this.drawn) {
      const words = t("Larger where more were drawn ({count} in all)", { count: formatNumber(of) });
      const note = t("Each is a place of a virtual user, and most may be noise.");
      return { title, classes: [], words: "", keys: [{ swatch: "point", words }], note };
    }
    const keys = [
      {
        swatch: "point",
        words: shown < of
          ? t("A moved report ({shown} of {count} drawn)", { shown: formatNumber(shown), count: formatNumber(of) })
          : t("A moved report"),
      },
    ];
    if (this.radii) {
      const { near, far } = this.radii;
      keys.push({
        swatch: "noise-circles",
        words: t("Half were moved by less than {near} m, 19 in 20 by less than {far} m", {
          near: formatNumber(Math.round(near)), far: formatNumber(Math.round(far)),
        }),
      });
    }
    return {
      title: t("Reports, each moved at random"),
      classes: [],
      words: "",
      keys,
      note: t("Shows that reports were made and how many, not where."),
    };
  }

  basis(): Basis | null {
    return null;
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    map.addSource(CIRCLES, { type: "geojson", data: collection(this.sample ? [feature(this.sample)] : []) });
    const dots = this.points.map(({ middle: { longitude, latitude }, radius }) =>
      feature({ type: "Point", coordinates: [longitude, latitude] }, { radius }),
    );
    map.addSource(DOTS, { type: "geojson", data: collection(dots) });
    map.addLayer({ id: DOTS, type: "circle", source: DOTS, paint: { "circle-radius": ["get", "radius"] } }, before);
    map.addLayer(
      { id: CIRCLES, type: "line", source: CIRCLES, paint: { "line-width": 1.5, "line-dasharray": [3, 2] } },
      before,
    );
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    for (const id of [DOTS, CIRCLES]) {
      map.removeLayer(id);
      map.removeSource(id);
    }
  }

  draw(pen: CanvasRenderingContext2D, place: Place): void {
    const palette = this.palette!;
    pen.save();
    pen.globalAlpha = this.opacity;
    pen.fillStyle = palette.ramp[palette.ramp.length - 2]!;
    const scale = Math.min(1, place.width / 640);
    pen.beginPath();
    for (const { middle, radius: whole } of this.points) {
      const radius = Math.max(0.8, whole * scale);
      const { x, y } = pixelOf(place, middle);
      pen.moveTo(x + radius, y);
      pen.arc(x, y, radius, 0, 2 * Math.PI);
    }
    pen.fill();
    pen.globalAlpha = 1;
    if (this.sample) {
      pen.strokeStyle = palette.hatch;
      pen.lineWidth = 1.5;
      pen.setLineDash([4, 3]);
      pen.stroke(shapePath(this.sample, place));
    }
    pen.restore();
  }

  at(position: Degrees, metres: number): Spot | null {
    let nearest: Point | undefined;
    let least = REACH;
    for (const point of this.points) {
      const pixels = distanceNearby(position, point.middle) / metres;
      if (pixels < least) [nearest, least] = [point, pixels];
    }
    return nearest ? this.spot(nearest) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const start = from && this.points[Number(from.key)];
    const point = walk(this.points, start, arrow, times, near);
    return point ? this.spot(point) : null;
  }

  private spot({ key, middle, times }: Point): Spot {
    if (this.drawn) {
      return { key, name: "", figure: formatNumber(times), margin: "", note: t("times drawn"), middle, outline: null };
    }
    return {
      key,
      name: "",
      figure: t("A moved report"),
      margin: "",
      note: this.radii
        ? t("made within the inner circle one time in two, within the outer one 19 times in 20")
        : "",
      middle,
      outline: this.radii && circles(middle, this.radii),
    };
  }

  private get drawn(): boolean {
    return this.name === DRAWN;
  }

  /** Dots are fainter the more there are, or they would hide how dense they lie. */
  private get opacity(): number {
    if (this.drawn) return this.style.opacity * 0.6;
    return this.style.opacity * Math.max(0.12, Math.min(0.8, 40 / Math.sqrt(this.points.length + 1)));
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    map.setPaintProperty(DOTS, "circle-color", palette.ramp[palette.ramp.length - 2]!);
    map.setPaintProperty(DOTS, "circle-opacity", this.opacity);
    map.setPaintProperty(CIRCLES, "line-color", palette.hatch);
  }
}

/** A dot of the same size for each moved report. */
export function reportsOf(layer: PointLayer): Point[] {
  return Array.from({ length: layer.positions.length / 2 }, (_, index) => ({
    key: String(index),
    middle: positionOf(layer, index),
    times: 1,
    radius: RADIUS,
  }));
}

/** A dot for each place, its area by how often the place was drawn. */
export function placesOf(layer: PointLayer): Point[] {
  const places = new Map<string, Point>();
  for (const { middle } of reportsOf(layer)) {
    const name = `${middle.longitude} ${middle.latitude}`;
    const place = places.get(name);
    if (place) place.times++;
    else places.set(name, { key: String(places.size), middle, times: 1, radius: RADIUS });
  }
  const points = [...places.values()];
  const most = points.reduce((least, { times }) => Math.max(least, times), 1);
  for (const point of points) point.radius = Math.max(1, LARGEST * Math.sqrt(point.times / most));
  return points;
}

/** Circles of both radii on the ground around a position. */
function circles(middle: Degrees, { near, far }: Radii): MultiPolygon {
  return { type: "MultiPolygon", coordinates: [far, near].map((metres) => [circleAround(middle, metres, CORNERS)]) };
}

/** The centre of the sample circles: in the north-east, inside the area's bounds. */
function corner([west, south, east, north]: Bounds, metres: number): Degrees {
  const up = degreesOf(metres) * 1.3;
  const latitude = Math.max(north - up, (south + north) / 2);
  const across = up / Math.cos((latitude * Math.PI) / 180);
  return { longitude: Math.max(east - across, (west + east) / 2), latitude };
}
