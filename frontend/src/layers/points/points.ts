/**
 * Moved points: a dot each, and the circles that hold half and 95 % of where one may have gone. Or
 * places drawn: a dot for each place, as large as it was drawn often.
 */
import type { FeatureCollection, MultiPolygon, Position } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { shapePath } from "../../canvas/paths";
import type { Palette } from "../../colour/ramps";
import type { PointLayer } from "../../data/release-array";
import type { Scene } from "../../data/scene";
import { type Degrees, toMercator } from "../../geometry/mercator";
import type { Bounds, Place } from "../../geometry/place";
import { type Arrow, nearestInDirection } from "../../geometry/shapes";
import { formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
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

/** Pixels. */
const RADIUS = 2.5;
const LARGEST = 14;
const REACH = 8;

const EARTH_RADIUS_METRES = 6_371_008.8;
const CORNERS = 72;

/** The layer of places that stand for nobody in particular, many of them on each other. */
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

/** How far points were moved, from the privacy statement; null where it does not say. */
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
    const { positions, partsOfDegree } = layer;
    const found = new Map<string, Point>();
    for (let index = 0; index < positions.length; index += 2) {
      const [x, y] = [positions[index]!, positions[index + 1]!];
      const place = this.drawn ? `${x} ${y}` : `${index}`;
      const point = found.get(place);
      if (point) point.times++;
      else {
        const middle = { longitude: x / partsOfDegree, latitude: y / partsOfDegree };
        found.set(place, { key: String(found.size), middle, times: 1, radius: RADIUS });
      }
    }
    this.points = [...found.values()];
    if (this.drawn) {
      const most = this.points.reduce((least, { times }) => Math.max(least, times), 1);
      for (const point of this.points) point.radius = Math.max(1, LARGEST * Math.sqrt(point.times / most));
    }
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
      const note = t("Each stands for a made-up person's, and most may be noise.");
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
        words: t("Half moved up to {near} m, 95 % up to {far} m", {
          near: formatNumber(Math.round(near)), far: formatNumber(Math.round(far)),
        }),
      });
    }
    return {
      title: t("Reports, each moved at random"),
      classes: [],
      words: "",
      keys,
      note: t("That a report was made shows, and how many there are; not where."),
    };
  }

  basis(): Basis | null {
    return null;
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    map.addSource(CIRCLES, { type: "geojson", data: features(this.sample ? [this.sample] : []) });
    map.addSource(DOTS, {
      type: "geojson",
      data: {
        type: "FeatureCollection",
        features: this.points.map(({ middle, radius }) => ({
          type: "Feature", properties: { radius },
          geometry: { type: "Point", coordinates: [middle.longitude, middle.latitude] },
        })),
      },
    });
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
      const { x, y } = toMercator(middle);
      const [across, down] = [(x - place.west) / place.perPixel, (place.north - y) / place.perPixel];
      pen.moveTo(across + radius, down);
      pen.arc(across, down, radius, 0, 2 * Math.PI);
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
    const here = toMercator(position);
    const scale = Math.cos((position.latitude * Math.PI) / 180) / metres;
    let found: Point | undefined;
    let least = REACH;
    for (const point of this.points) {
      const { x, y } = toMercator(point.middle);
      const pixels = Math.hypot(x - here.x, y - here.y) * scale;
      if (pixels < least) [found, least] = [point, pixels];
    }
    return found ? this.spot(found) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    let point = from ? this.points[Number(from.key)] : undefined;
    if (!point) point = nearestInDirection(this.points, near, null);
    else {
      for (let walked = 0; walked < times && point; walked++) {
        point = nearestInDirection(this.points, point.middle, arrow) ?? point;
      }
    }
    return point ? this.spot(point) : null;
  }

  private spot({ key, middle, times }: Point): Spot {
    if (this.drawn) {
      return { key, name: "", figure: formatNumber(times), margin: "", note: t("times drawn"), middle, outline: null };
    }
    return {
      key,
      name: t("A moved report"),
      figure: "",
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

  /** Many dots on each other would hide how dense they lie. */
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

function features(geometries: FeatureCollection["features"][number]["geometry"][]): FeatureCollection {
  return {
    type: "FeatureCollection",
    features: geometries.map((geometry) => ({ type: "Feature", geometry, properties: {} })),
  };
}

/** The circles of both radii around a place, on the ground. */
function circles(middle: Degrees, { near, far }: Radii): MultiPolygon {
  return { type: "MultiPolygon", coordinates: [far, near].map((metres) => [circle(middle, metres)]) };
}

/** A ring of so many metres around a place; small against the earth. */
function circle({ longitude, latitude }: Degrees, metres: number): Position[] {
  const up = (metres / EARTH_RADIUS_METRES) * (180 / Math.PI);
  const across = up / Math.cos((latitude * Math.PI) / 180);
  return Array.from({ length: CORNERS + 1 }, (_, index) => {
    const angle = (2 * Math.PI * (index % CORNERS)) / CORNERS;
    return [longitude + across * Math.cos(angle), latitude + up * Math.sin(angle)];
  });
}

/** Where the sample of the noise is drawn: in the north-east, inside the area's bounds. */
function corner([west, south, east, north]: Bounds, metres: number): Degrees {
  const up = (metres / EARTH_RADIUS_METRES) * (180 / Math.PI) * 1.3;
  const latitude = Math.max(north - up, (south + north) / 2);
  const across = up / Math.cos((latitude * Math.PI) / 180);
  return { longitude: Math.max(east - across, (west + east) / 2), latitude };
}
