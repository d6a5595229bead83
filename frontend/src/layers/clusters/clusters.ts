/** Clusters and units: circles as large as their counts, on the ground that they stand for. */
import type { Feature, FeatureCollection, Geometry } from "geojson";
import type { ExpressionSpecification, Map as MapLibre } from "maplibre-gl";
import { shapePath } from "../../canvas/paths";
import { classEdges, classOf, rampStep } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import { fetchShapes } from "../../data/fetching";
import type { PointLayer } from "../../data/release-array";
import type { Scene } from "../../data/scene";
import { type Degrees, toMercator } from "../../geometry/mercator";
import type { Place } from "../../geometry/place";
import { type Arrow, contains, nearestInDirection } from "../../geometry/shapes";
import { formatMargin, formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import {
  type LegendContent,
  type LoadLayer,
  type MapLayer,
  PLAIN_STYLE,
  type Show,
  type Spot,
  type Style,
} from "../map-layer";
import { doubtNote } from "../uncertainty";

/** Radii in pixels: of the least and of the largest count, areas being as the counts. */
const SMALLEST = 4;
const LARGEST = 26;

type Properties = { cluster: number };

type Cluster = {
  /** From 1, as in the files. */
  id: number;
  /** Of a unit; "" where it is a cluster's. */
  unit: string;
  middle: Degrees;
  value: number;
  margin: number;
  threshold: number;
  /** What lies nearest to it; null where nothing of the study area does. */
  area: Geometry | null;
  radius: number;
  /** Its step of the ramp, or -1 where it cannot be told from zero. */
  step: number;
};

const POINTS = "clusters";
const AREAS = "clusters-areas";

export const load: LoadLayer = async (layer, release, scene) => {
  if (layer.shape !== "points") throw new Error(`The layer ${layer.name} has no points.`);
  const areas = layer.name === "clusters" ? release.layers.find(({ name }) => name === "areas") : undefined;
  const features = areas?.shape === "shapes" && areas.file ? await fetchShapes<Properties>(scene.urlOf(areas.file)) : [];
  return new Clusters(layer, features, scene);
};

class Clusters implements MapLayer {
  readonly name: string;
  readonly shows: readonly Show[] = ["estimate"];
  readonly scales = true;
  private readonly clusters: Cluster[];
  private edges: number[] = [];
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;

  constructor(
    private readonly layer: PointLayer,
    areas: Feature<Geometry, Properties>[],
    private readonly scene: Scene,
  ) {
    this.name = layer.name;
    const known = new Map(areas.map((each) => [each.properties.cluster, each]));
    const count = layer.positions.length / 2;
    const values = Array.from({ length: count }, (_, index) => (layer.stored?.[index] ?? 0) * layer.step);
    const largest = Math.max(1, ...values);
    this.clusters = values.map((value, index) => ({
      id: index + 1,
      unit: layer.names?.[index] ?? "",
      middle: {
        longitude: layer.positions[2 * index]! / layer.partsOfDegree,
        latitude: layer.positions[2 * index + 1]! / layer.partsOfDegree,
      },
      value,
      margin: layer.margins?.[index] ?? 0,
      threshold: layer.thresholds?.[index] ?? 0,
      area: known.get(index + 1)?.geometry ?? null,
      radius: Math.max(SMALLEST, LARGEST * Math.sqrt(Math.max(value, 0) / largest)),
      step: -1,
    }));
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    const coloured = this.clusters.filter(standsOut);
    this.edges = classEdges(coloured.map(({ value }) => value), true, style.scale);
    for (const cluster of this.clusters) {
      cluster.step = standsOut(cluster)
        ? rampStep(classOf(cluster.value, this.edges), this.edges.length)
        : -1;
    }
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const { counting } = this.scene;
    const { names, title } = this.layer;
    const people = counting === "people" ? "People per cluster, once in each small cell" : "Visits per cluster";
    const margins = this.clusters.map(({ margin }) => margin);
    return {
      title: names ? title : t(people),
      classes: this.edges.map((from, index) => ({ from, step: rampStep(index, this.edges.length) })),
      words: t("Stands out from noise"),
      keys: [{ swatch: "hollow", words: t("Cannot be told from zero") }],
      note: margins.length
        ? t(names ? "Each count is {range} {counting}." : "Each cluster is {range} {counting}.", { range: formatMargin(Math.max(...margins)), counting: t(counting) })
        : "",
    };
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    const empty: FeatureCollection = { type: "FeatureCollection", features: [] };
    map.addSource(AREAS, { type: "geojson", data: empty });
    map.addSource(POINTS, { type: "geojson", data: empty });
    map.addLayer({ id: AREAS, type: "line", source: AREAS, paint: { "line-width": 1 } }, before);
    map.addLayer(
      {
        id: POINTS, type: "circle", source: POINTS,
        // Small ones over large ones, so that all can be pointed at.
        layout: { "circle-sort-key": ["-", 0, ["get", "radius"]] },
        paint: { "circle-radius": ["get", "radius"], "circle-stroke-width": 1.5 },
      },
      before,
    );
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    for (const id of [POINTS, AREAS]) {
      map.removeLayer(id);
      map.removeSource(id);
    }
  }

  draw(pen: CanvasRenderingContext2D, place: Place): void {
    const palette = this.palette!;
    pen.save();
    pen.globalAlpha = this.style.opacity;
    pen.strokeStyle = palette.hatch;
    pen.lineWidth = 1;
    for (const { area } of this.clusters) if (area) pen.stroke(shapePath(area, place));
    pen.lineWidth = 1.5;
    const scale = Math.min(1, place.width / 480);
    for (const { middle, radius, step } of [...this.clusters].sort((a, b) => b.radius - a.radius)) {
      const { x, y } = toMercator(middle);
      pen.beginPath();
      pen.arc((x - place.west) / place.perPixel, (place.north - y) / place.perPixel, radius * scale, 0, 2 * Math.PI);
      pen.fillStyle = step < 0 ? palette.land : palette.ramp[step]!;
      pen.strokeStyle = step < 0 ? palette.hatch : palette.sheet;
      pen.fill();
      pen.stroke();
    }
    pen.restore();
  }

  at(position: Degrees, metres: number): Spot | null {
    const here = toMercator(position);
    let found: Cluster | undefined;
    for (const cluster of this.clusters) {
      const { x, y } = toMercator(cluster.middle);
      const pixels = (Math.hypot(x - here.x, y - here.y) * Math.cos((position.latitude * Math.PI) / 180)) / metres;
      if (pixels <= Math.max(cluster.radius, 8) && (!found || cluster.radius < found.radius)) found = cluster;
    }
    found ??= this.clusters.find(({ area }) => area !== null && contains(area, position));
    return found ? this.spot(found) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    let cluster = from ? this.clusters.find(({ id }) => String(id) === from.key) : undefined;
    if (!cluster) cluster = nearestInDirection(this.clusters, near, null);
    else {
      for (let walked = 0; walked < times && cluster; walked++) {
        cluster = nearestInDirection(this.clusters, cluster.middle, arrow) ?? cluster;
      }
    }
    return cluster ? this.spot(cluster) : null;
  }

  private spot(cluster: Cluster): Spot {
    const { id, unit, middle, value, margin, area } = cluster;
    const place = unit ? "" : t("nearest to this centre");
    return {
      key: String(id),
      name: unit || t("Cluster {number}", { number: id }),
      figure: formatNumber(value),
      margin: `${formatMargin(margin)} ${t(this.scene.counting)}`,
      note: doubtNote(value, standsOut(cluster)) || place,
      middle,
      outline: area,
    };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    const [points, areas] = [POINTS, AREAS].map(
      (id) => map.getSource(id) as { setData(data: FeatureCollection): void } | undefined,
    );
    if (!points || !areas) return;
    areas.setData({
      type: "FeatureCollection",
      features: this.clusters.flatMap(({ area }) =>
        area ? [{ type: "Feature" as const, geometry: area, properties: {} }] : [],
      ),
    });
    points.setData({
      type: "FeatureCollection",
      features: this.clusters.map(({ id, middle, radius, step }) => ({
        type: "Feature", id, properties: { radius, step },
        geometry: { type: "Point", coordinates: [middle.longitude, middle.latitude] },
      })),
    });
    const colours = palette.ramp.flatMap((colour, step) => [step, colour]);
    const fill = ["match", ["get", "step"], ...colours, palette.land] as unknown as ExpressionSpecification;
    const edge: ExpressionSpecification = ["case", ["<", ["get", "step"], 0], palette.hatch, palette.sheet];
    map.setPaintProperty(POINTS, "circle-color", fill);
    map.setPaintProperty(POINTS, "circle-stroke-color", edge);
    map.setPaintProperty(POINTS, "circle-opacity", opacity);
    map.setPaintProperty(AREAS, "line-color", palette.hatch);
    map.setPaintProperty(AREAS, "line-opacity", opacity);
  }
}

function standsOut({ value, threshold }: Cluster): boolean {
  return value >= Math.max(threshold, 1);
}
