/** Layer of clusters and units: circles with areas proportional to counts, and the ground of each cluster. */
import type { Feature, Geometry } from "geojson";
import type { ExpressionSpecification, Map as MapLibre } from "maplibre-gl";
import { shapePath } from "../../canvas/paths";
import { classEdges, classOf, rampStep, rampSteps } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import { fetchShapes } from "../../data/fetching";
import { type PointLayer, positionOf } from "../../data/release-array";
import type { Scene } from "../../data/scene";
import { type Degrees, distanceNearby } from "../../geometry/mercator";
import { pixelOf, type Place } from "../../geometry/place";
import { type Arrow, contains, walk } from "../../geometry/shapes";
import { capitalise, formatMargin, formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import { drawLabel, setLabelImage } from "../label-image";
import { collection, feature, setFeatures, stepColours } from "../map-features";
import {
  legendClasses,
  type LegendContent,
  type LoadLayer,
  type MapLayer,
  PLAIN_STYLE,
  type Show,
  type Spot,
  type Style,
} from "../map-layer";
import { doubtNote, countedRange } from "../uncertainty";

/** Radii in pixels of the smallest and of the largest circle. */
const SMALLEST = 4;
const LARGEST = 26;

/** On a map narrower than this many pixels circles are smaller, so that they cover less of it. */
const NARROW = 600;
const ON_NARROW = 0.6;

type Properties = { cluster: number };

type Cluster = {
  /** From 1, as in the files. */
  id: number;
  /** The name of a unit; "" for a cluster. */
  unit: string;
  middle: Degrees;
  value: number;
  margin: number;
  threshold: number;
  /** The ground that is nearest to it; null where none of the study area is. */
  area: Geometry | null;
  radius: number;
  /** Its step of the ramp, or HOLLOW where it cannot be told from zero. */
  step: number;
};

/** Takes the place of a step of the ramp; the map's expressions rely on its being below zero. */
const HOLLOW = -1;

const POINTS = "clusters";
const AREAS = "clusters-areas";
const LABELS = "clusters-labels";

/** Pixels from the edge of a circle to the middle of its figure, below it. */
const BELOW = 9;

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
  /** What the radii of circles are multiplied by. */
  private size = 1;

  constructor(
    private readonly layer: PointLayer,
    areas: Feature<Geometry, Properties>[],
    private readonly scene: Scene,
  ) {
    this.name = layer.name;
    this.clusters = clustersOf(layer, areas);
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    const coloured = this.clusters.filter(standsOut);
    this.edges = style.basis
      ? [...style.basis.edges]
      : classEdges(coloured.map(({ value }) => value), true, style.scale);
    for (const cluster of this.clusters) {
      cluster.step = standsOut(cluster)
        ? rampStep(classOf(cluster.value, this.edges), this.edges.length)
        : HOLLOW;
    }
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const counting = this.scene.nouns.sum;
    const { names, title } = this.layer;
    const margins = this.clusters.map(({ margin }) => margin);
    return {
      title: names ? title : capitalise(t("{noun} per gathering place", { noun: t(counting) })),
      classes: legendClasses(this.edges, rampSteps(this.edges.length)),
      words: "",
      keys: [{ swatch: "hollow", words: t("Too few to tell from none") }],
      note: margins.length
        ? t(names ? "Every count is give or take {range} {counting}." : "Every gathering place is give or take {range} {counting}.", countedRange(margins, t(counting)))
        : "",
    };
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    this.size = map.getContainer().clientWidth < NARROW ? ON_NARROW : 1;
    map.addSource(AREAS, { type: "geojson", data: collection([]) });
    map.addSource(POINTS, { type: "geojson", data: collection([]) });
    map.addLayer({ id: AREAS, type: "line", source: AREAS, paint: { "line-width": 1 } }, before);
    map.addLayer(
      {
        id: POINTS, type: "circle", source: POINTS,
        // Small circles lie over large ones, so that each can be pointed at.
        layout: { "circle-sort-key": ["-", 0, ["get", "radius"]] },
        paint: { "circle-radius": ["*", this.size, ["get", "radius"]], "circle-stroke-width": 1.5 },
      },
      before,
    );
    map.addLayer(
      {
        id: LABELS, type: "symbol", source: POINTS, filter: [">=", ["get", "step"], 0],
        layout: {
          "icon-image": ["concat", LABELS, ["to-string", ["id"]]],
          "icon-offset": [
            "interpolate", ["linear"], ["get", "radius"],
            ...[0, LARGEST].flatMap((radius) => [radius, ["literal", [0, this.size * radius + BELOW]]]),
          ] as unknown as ExpressionSpecification,
          "symbol-sort-key": ["-", 0, ["get", "radius"]],
        },
      },
      // Above the names of places: MapLibre leaves out what would touch a label of a layer above it,
      // and the figures of the largest clusters lie where the names of the largest towns do.
    );
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    map.removeLayer(LABELS);
    for (const { id } of this.clusters) if (map.hasImage(LABELS + id)) map.removeImage(LABELS + id);
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
      const { x, y } = pixelOf(place, middle);
      pen.beginPath();
      pen.arc(x, y, radius * scale, 0, 2 * Math.PI);
      pen.fillStyle = step < 0 ? palette.land : palette.ramp[step]!;
      pen.strokeStyle = step < 0 ? palette.hatch : palette.sheet;
      pen.fill();
      pen.stroke();
    }
    pen.globalAlpha = 1;
    for (const { middle, radius, step, value } of scale < 1 ? [] : this.clusters) {
      const { x, y } = pixelOf(place, middle);
      if (step >= 0) drawLabel(pen, formatNumber(value), x, y + radius + BELOW, palette);
    }
    pen.restore();
  }

  at(position: Degrees, metres: number): Spot | null {
    let smallest: Cluster | undefined;
    for (const cluster of this.clusters) {
      const pixels = distanceNearby(position, cluster.middle) / metres;
      if (pixels <= Math.max(this.size * cluster.radius, 8) && (!smallest || cluster.radius < smallest.radius)) smallest = cluster;
    }
    const cluster = smallest ?? this.clusters.find(({ area }) => area !== null && contains(area, position));
    return cluster ? this.spot(cluster) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const start = from && this.clusters.find(({ id }) => String(id) === from.key);
    const cluster = walk(this.clusters, start, arrow, times, near);
    return cluster ? this.spot(cluster) : null;
  }

  private spot(cluster: Cluster): Spot {
    const { id, unit, middle, value, margin, area } = cluster;
    const place = unit ? "" : t("nearest to this centre");
    return {
      key: String(id),
      name: unit || t("Gathering place {number}", { number: id }),
      figure: formatNumber(value),
      margin: `${formatMargin(margin)} ${t(this.scene.nouns.sum)}`,
      note: doubtNote(value, standsOut(cluster)) || place,
      middle,
      outline: area,
    };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    if (!map.getSource(POINTS)) return;
    for (const { id, value } of this.clusters) setLabelImage(map, LABELS + id, formatNumber(value), palette);
    setFeatures(map, AREAS, this.clusters.flatMap(({ area }) => (area ? [feature(area)] : [])));
    setFeatures(
      map,
      POINTS,
      this.clusters.map(({ id, middle: { longitude, latitude }, radius, step }) =>
        feature({ type: "Point", coordinates: [longitude, latitude] }, { radius, step }, id),
      ),
    );
    const edge: ExpressionSpecification = ["case", ["<", ["get", "step"], 0], palette.hatch, palette.sheet];
    map.setPaintProperty(POINTS, "circle-color", stepColours(palette));
    map.setPaintProperty(POINTS, "circle-stroke-color", edge);
    map.setPaintProperty(POINTS, "circle-opacity", opacity);
    map.setPaintProperty(AREAS, "line-color", palette.hatch);
    map.setPaintProperty(AREAS, "line-opacity", opacity);
  }
}

/** The clusters or units of a layer, with their circles' radii. */
export function clustersOf(layer: PointLayer, areas: readonly Feature<Geometry, Properties>[]): Cluster[] {
  const known = new Map(areas.map((each) => [each.properties.cluster, each.geometry]));
  const count = layer.positions.length / 2;
  const values = Array.from({ length: count }, (_, index) => (layer.stored?.[index] ?? 0) * layer.step);
  const largest = values.reduce((most, value) => Math.max(most, value), 1);
  return values.map((value, index) => ({
    id: index + 1,
    unit: layer.names?.[index] ?? "",
    middle: positionOf(layer, index),
    value,
    margin: layer.margins?.[index] ?? 0,
    threshold: layer.thresholds?.[index] ?? 0,
    area: known.get(index + 1) ?? null,
    radius: Math.max(SMALLEST, LARGEST * Math.sqrt(Math.max(value, 0) / largest)),
    step: HOLLOW,
  }));
}

function standsOut({ value, threshold }: Cluster): boolean {
  return value >= Math.max(threshold, 1);
}
