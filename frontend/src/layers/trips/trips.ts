/** Layers of made-up trips: a flow field of where trips lead, and a sample of trips as thin lines. */
import type { Feature, Geometry, LineString, Polygon } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { shapePath } from "../../canvas/paths";
import { classEdges, classOf, rampStep, rampSteps } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import { type Degrees, toDegrees, toMercator } from "../../geometry/mercator";
import type { Place } from "../../geometry/place";
import { type Arrow, centreOf, contains, walk } from "../../geometry/shapes";
import { formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import { loadShapes } from "../load-shapes";
import { collection, feature, setFeatures, stepColours } from "../map-features";
import { legendClasses, type LegendContent, type LoadLayer, type MapLayer, PLAIN_STYLE, type Spot, type Style } from "../map-layer";
import { arrowLength, arrowOutline, directionOf } from "./arrows";

type Moves = { direction: number; strength: number; trips: number };

type Square = {
  id: number;
  middle: Degrees;
  geometry: Geometry;
  moves: Moves;
  /** Null where no move stands out from the noise. */
  arrow: Polygon | null;
  step: number;
};

const SOURCE = "trip-arrows";
const LINES = "trip-lines";
const FILL = "trip-arrows";
const EDGE = "trip-arrows-edge";
const LINE = "trip-lines";

/** Width in pixels and opacity of a made-up trip, so that many together are darker than one. */
const LINE_WIDTH = 0.8;
const LINE_OPACITY = 0.45;

export const load: LoadLayer = async (layer, release, scene) => {
  const moves = release.layers.find(({ name }) => name === "moves")!;
  const [squares, trips] = await Promise.all([
    loadShapes<Moves>(moves, scene),
    layer === moves ? [] : loadShapes<object>(layer, scene),
  ]);
  return new Trips(layer.name, squares, trips.map(({ geometry }) => geometry as LineString));
};

export class Trips implements MapLayer {
  readonly shows = ["estimate"] as const;
  readonly scales = false;
  private readonly squares: Square[];
  private edges: number[] = [];
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;

  constructor(
    readonly name: string,
    squares: Feature<Geometry, Moves>[],
    private readonly trips: readonly LineString[],
  ) {
    const strongest = Math.max(0, ...squares.map(({ properties }) => properties.strength));
    this.squares = squares.map(({ geometry, properties }, id) => {
      const middle = centreOf(geometry);
      return { id, middle, geometry, moves: properties, arrow: arrowOf(geometry, middle, properties, strongest), step: 0 };
    });
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    const told = this.squares.filter(({ arrow }) => arrow);
    this.edges = style.basis ? [...style.basis.edges] : classEdges(told.map(({ moves }) => moves.strength), true, "log");
    for (const square of told) square.step = rampStep(classOf(square.moves.strength, this.edges), this.edges.length);
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const trips = { swatch: "made-up-trip", words: t("A made-up trip: nobody made it") };
    return {
      title: t("Trips that lead on in the arrow's direction"),
      classes: legendClasses(this.edges, rampSteps(this.edges.length)),
      words: "",
      keys: this.trips.length ? [trips] : [],
      note: t("Squares without an arrow have too few to tell from none, or as many each way."),
    };
  }

  basis(): null {
    return null;
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    for (const source of [SOURCE, LINES]) map.addSource(source, { type: "geojson", data: collection([]), tolerance: 0 });
    map.addLayer({ id: LINE, type: "line", source: LINES, paint: { "line-width": LINE_WIDTH } }, before);
    map.addLayer({ id: FILL, type: "fill", source: SOURCE }, before);
    map.addLayer({ id: EDGE, type: "line", source: SOURCE, paint: { "line-width": 0.8 } }, before);
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    for (const layer of [EDGE, FILL, LINE]) map.removeLayer(layer);
    for (const source of [SOURCE, LINES]) map.removeSource(source);
  }

  draw(pen: CanvasRenderingContext2D, place: Place): void {
    const palette = this.palette!;
    pen.save();
    pen.globalAlpha = this.style.opacity * LINE_OPACITY;
    pen.strokeStyle = palette.ink;
    pen.lineWidth = LINE_WIDTH;
    for (const trip of this.trips) pen.stroke(shapePath(trip, place));
    pen.globalAlpha = this.style.opacity;
    pen.strokeStyle = palette.land;
    for (const { arrow, step } of this.squares) {
      if (!arrow) continue;
      const path = shapePath(arrow, place);
      pen.fillStyle = palette.ramp[step]!;
      pen.fill(path);
      pen.stroke(path);
    }
    pen.restore();
  }

  at(position: Degrees): Spot | null {
    const square = this.squares.find(({ geometry }) => contains(geometry, position));
    return square ? spotOf(square) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const start = from && this.squares.find(({ id }) => String(id) === from.key);
    const square = walk(this.squares, start, arrow, times, near);
    return square ? spotOf(square) : null;
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    if (!map.getSource(SOURCE)) return;
    const arrows = this.squares.flatMap(({ arrow, step, id }) => (arrow ? [feature(arrow, { step }, id)] : []));
    setFeatures(map, SOURCE, arrows);
    setFeatures(map, LINES, this.trips.map((trip) => feature(trip)));
    map.setPaintProperty(LINE, "line-color", palette.ink);
    map.setPaintProperty(LINE, "line-opacity", this.style.opacity * LINE_OPACITY);
    map.setPaintProperty(FILL, "fill-color", stepColours(palette));
    map.setPaintProperty(FILL, "fill-opacity", this.style.opacity);
    map.setPaintProperty(EDGE, "line-color", palette.land);
  }
}

function arrowOf(geometry: Geometry, middle: Degrees, moves: Moves, strongest: number): Polygon | null {
  const length = arrowLength(moves.strength, strongest, sideOf(geometry));
  if (!length) return null;
  const outline = arrowOutline(toMercator(middle), moves.direction, length);
  const ring = [...outline, outline[0]!].map(({ x, y }) => {
    const { longitude, latitude } = toDegrees(x, y);
    return [longitude, latitude];
  });
  return { type: "Polygon", coordinates: [ring] };
}

/** The side of a square, in metres of the map's plane. */
function sideOf(geometry: Geometry): number {
  const corners = (geometry as Polygon).coordinates[0]!.map(([longitude, latitude]) =>
    toMercator({ longitude: longitude!, latitude: latitude! }),
  );
  const across = corners.map(({ x }) => x);
  return Math.max(...across) - Math.min(...across);
}

function spotOf({ id, middle, geometry, moves, arrow }: Square): Spot {
  const words = {
    north: t("Most lead north"),
    "north-east": t("Most lead north-east"),
    east: t("Most lead east"),
    "south-east": t("Most lead south-east"),
    south: t("Most lead south"),
    "south-west": t("Most lead south-west"),
    west: t("Most lead west"),
    "north-west": t("Most lead north-west"),
  };
  return {
    key: String(id),
    name: "",
    figure: arrow ? formatNumber(Math.round(moves.trips)) : "",
    margin: arrow ? t("trips lead on from here") : "",
    note: arrow ? words[directionOf(moves.direction)] : t("Too few to tell from none"),
    middle,
    outline: geometry,
  };
}
