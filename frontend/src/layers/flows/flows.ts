/** Layer of flows: tapered arcs over the regions that they join, of one region or the largest of all. */
import type { Feature, Geometry } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { classEdges, classOf, rampStep, rampSteps } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import type { Nouns, ReleaseArray } from "../../data/release-array";
import type { Degrees } from "../../geometry/mercator";
import { perPixelAt, type Place } from "../../geometry/place";
import { type Arrow, contains, walk } from "../../geometry/shapes";
import { capitalise, formatMargin, formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import { HatchImage } from "../hatch-image";
import { setLabelImage } from "../label-image";
import { loadShapes } from "../load-shapes";
import { collection, feature, setFeatures, stepColours } from "../map-features";
import {
  type Basis,
  legendClasses,
  type LegendContent,
  type LoadLayer,
  type MapLayer,
  PLAIN_STYLE,
  type Spot,
  type Style,
} from "../map-layer";
import { countedRange } from "../uncertainty";
import {
  type Choice,
  choiceOf,
  type Count,
  type Direction,
  type Flow,
  type FlowProperties,
  type Region,
  type RegionProperties,
} from "./choice";
import { CHOSEN, drawFlows, HATCHED, labelsOf, outlinesOf } from "./drawing";

const SOURCE = "flow-regions";
const ARCS = "flow-arcs";
const FILL = "flow-fill";
const HATCH = "flow-hatch";
const LINE = "flow-line";
const RING = "flow-ring";
const LABELS = "flow-labels";
const PATTERN = "flow-hatch";

/** The choice is kept when the layer changes, so that all time slices show the same region. */
const chosen = new WeakMap<ReleaseArray, { key: string | null; direction: Direction }>();

export const load: LoadLayer = async (layer, release, scene) => {
  const find = (name: string) => release.layers.find((each) => each.name === name)!;
  const [flows, departures, arrivals] = await Promise.all([
    loadShapes<FlowProperties>(layer, scene),
    loadShapes<RegionProperties>(find("departures"), scene),
    loadShapes<RegionProperties>(find("arrivals"), scene),
  ]);
  return new Flows(layer.name, flows, departures, arrivals, release, scene.nouns);
};

export class Flows implements MapLayer {
  readonly shows = ["estimate"] as const;
  readonly scales = false;
  readonly flows: Choice;
  private steps: number[] = [];
  private edges: number[] = [];
  private style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;
  private hatch: HatchImage | null = null;
  /** How many images of labels the map has. */
  private labels = 0;
  private readonly redraw = (): void => this.drawArcs();

  constructor(
    readonly name: string,
    flows: Feature<Geometry, FlowProperties>[],
    departures: Feature<Geometry, RegionProperties>[],
    arrivals: Feature<Geometry, RegionProperties>[],
    private readonly release: ReleaseArray,
    readonly nouns: Nouns,
  ) {
    this.flows = choiceOf(flows, departures, arrivals, name.replace(/^flows-?/, ""));
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    this.recall();
    const { region } = this.flows;
    const values = new Map<number, number>();
    if (region) for (const flow of this.flows.shown) values.set(this.flows.partner(flow).id, flow.value);
    else for (const { id, arrivals } of this.flows.regions) if (arrivals.value >= arrivals.threshold) values.set(id, arrivals.value);
    this.edges = region && style.basis ? [...style.basis.edges] : classEdges([...values.values()], true, "log");
    this.steps = this.flows.regions.map(({ id }) => {
      if (id === region?.id) return CHOSEN;
      const value = values.get(id);
      return value === undefined ? HATCHED : rampStep(classOf(value, this.edges), this.edges.length);
    });
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const { region, direction } = this.flows;
    const { one, sum } = this.nouns;
    const words = { noun: capitalise(t(one)), place: region?.name ?? "" };
    const titles = {
      arrivals: t("{noun} arriving at {place}, by where they begin", words),
      departures: t("{noun} leaving {place}, by where they end", words),
    };
    return {
      title: region ? titles[direction] : t("{noun} arriving", { noun: capitalise(t(sum)) }),
      classes: legendClasses(this.edges, rampSteps(this.edges.length)),
      words: "",
      keys: [
        { swatch: "hatch", words: t("Too few to tell from none") },
        { swatch: "arc", words: t("Broad end: where trips begin. Thin end: where they end") },
      ],
      note: this.marginWords(),
    };
  }

  basis(): Basis | null {
    return null;
  }

  /** Chooses the region at a position, or none; says whether anything changed. */
  choose(position: Degrees): boolean {
    const region = this.find(position);
    if (!region && !this.flows.region) return false;
    this.flows.take(region);
    this.remember();
    return true;
  }

  /** Chooses a region by its key, or none, and which of its flows are shown. */
  take(key: string | null, direction: Direction): void {
    this.flows.region = this.flows.regions.find((each) => each.key === key) ?? null;
    this.flows.direction = direction;
    this.remember();
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    for (const source of [SOURCE, ARCS, LABELS]) {
      map.addSource(source, { type: "geojson", data: collection([]), tolerance: 0 });
    }
    this.hatch = new HatchImage(map, PATTERN, this.palette!.hatch);
    map.addLayer({ id: FILL, type: "fill", source: SOURCE, filter: ["!=", ["get", "step"], HATCHED] }, before);
    map.addLayer(
      { id: HATCH, type: "fill", source: SOURCE, filter: ["==", ["get", "step"], HATCHED], paint: { "fill-pattern": PATTERN } },
      before,
    );
    map.addLayer({ id: LINE, type: "line", source: SOURCE, paint: { "line-width": 1 } }, before);
    map.addLayer(
      { id: RING, type: "line", source: SOURCE, filter: ["==", ["get", "step"], CHOSEN], paint: { "line-width": 2 } },
      before,
    );
    map.addLayer({ id: ARCS, type: "fill", source: ARCS }, before);
    // Above the names of places, which MapLibre leaves out where they would touch these.
    map.addLayer({
      id: LABELS, type: "symbol", source: LABELS,
      layout: {
        "icon-image": ["concat", LABELS, ["to-string", ["id"]]],
        "icon-offset": ["get", "offset"],
        "symbol-sort-key": ["id"],
      },
    });
    map.on("zoom", this.redraw);
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    map.off("zoom", this.redraw);
    for (const layer of [LABELS, ARCS, RING, LINE, HATCH, FILL]) map.removeLayer(layer);
    for (let index = 0; index < this.labels; index++) map.removeImage(LABELS + index);
    this.labels = 0;
    this.hatch?.remove();
    this.hatch = null;
    for (const source of [LABELS, ARCS, SOURCE]) map.removeSource(source);
  }

  draw(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number): void {
    const { flows, steps, palette } = this;
    drawFlows(pen, place, pixelRatio, { flows, steps, palette: palette!, opacity: this.style.opacity });
  }

  at(position: Degrees): Spot | null {
    const region = this.find(position);
    return region ? spotOf(this.flows, region, this.nouns) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const start = from && this.flows.regions.find(({ key }) => key === from.key);
    const region = walk(this.flows.regions, start, arrow, times, near);
    return region ? spotOf(this.flows, region, this.nouns) : null;
  }

  private find(position: Degrees): Region | null {
    return this.flows.regions.find(({ geometry }) => contains(geometry, position)) ?? null;
  }

  private remember(): void {
    const { region, direction } = this.flows;
    chosen.set(this.release, { key: region?.key ?? null, direction });
  }

  /** Restores the region that was chosen in another time slice. */
  private recall(): void {
    const kept = chosen.get(this.release);
    if (!kept) return;
    this.flows.region = this.flows.regions.find(({ key }) => key === kept.key) ?? null;
    this.flows.direction = kept.direction;
  }

  private drawArcs(): void {
    const { map } = this;
    if (!map?.getSource(ARCS)) return;
    setFeatures(map, ARCS, outlinesOf(this.flows, perPixelAt(map.getZoom())).map((outline) => feature(outline)));
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    const { opacity } = this.style;
    if (!map.getSource(SOURCE)) return;
    setFeatures(map, SOURCE, this.flows.regions.map(({ id, geometry }) => feature(geometry, { step: this.steps[id] }, id)));
    map.setPaintProperty(FILL, "fill-color", stepColours(palette));
    map.setPaintProperty(FILL, "fill-opacity", opacity);
    this.hatch?.paint(palette.hatch);
    map.setPaintProperty(HATCH, "fill-opacity", opacity);
    map.setPaintProperty(LINE, "line-color", palette.land);
    map.setPaintProperty(RING, "line-color", palette.accent);
    map.setPaintProperty(ARCS, "fill-color", palette.ink);
    map.setPaintProperty(ARCS, "fill-outline-color", palette.land);
    this.drawArcs();
    this.writeLabels(map, palette);
  }

  private writeLabels(map: MapLibre, palette: Palette): void {
    const labels = labelsOf(this.flows);
    labels.forEach(({ text }, index) => setLabelImage(map, LABELS + index, text, palette));
    for (let index = labels.length; index < this.labels; index++) map.removeImage(LABELS + index);
    this.labels = labels.length;
    setFeatures(
      map,
      LABELS,
      labels.map(({ region: { middle }, below }, index) =>
        feature({ type: "Point", coordinates: [middle.longitude, middle.latitude] }, { offset: [0, below] }, index),
      ),
    );
  }

  private marginWords(): string {
    const margins = this.flows.shown.map(({ margin }) => margin);
    if (!margins.length) return "";
    return t("Every flow is give or take {range} {counting}.", countedRange(margins, t(this.nouns.one)));
  }
}

/** The text shown for a region: its sum, or its flow from or to the chosen one. */
function spotOf(flows: Choice, region: Region, nouns: Nouns): Spot {
  const own = flows.region === region || !flows.region;
  const flow = own ? null : (flows.shown.find((each) => flows.partner(each) === region) ?? null);
  const counted: Count | Flow | null = own ? region[flows.direction] : flow;
  const notes = { arrivals: t("arrive from here"), departures: t("go here") };
  const sums = { arrivals: t("arrive here"), departures: t("leave from here") };
  return {
    key: region.key,
    name: region.name,
    figure: counted ? formatNumber(counted.value) : t("Too few to tell from none"),
    margin: counted ? `${formatMargin(counted.margin)} ${t(own ? nouns.sum : nouns.one)}` : "",
    note: counted ? (own ? sums : notes)[flows.direction] : "",
    middle: region.middle,
    outline: region.geometry,
  };
}
