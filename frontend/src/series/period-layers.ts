/** Layers of a series: a period as drawn or smoothed, and the change between two periods. */
import type { Feature, Geometry } from "geojson";
import type { Palette } from "../colour/ramps";
import type { BoxLayer, Layer, Noise, PointLayer } from "../data/release-array";
import {
  changeMarginOf,
  changesOf,
  countsOf,
  marginOf,
  type OpenSeries,
  smoothedOf,
  type Table,
} from "../data/series-array";
import { Surface } from "../data/surface";
import { changeEdges, changeWording, endWording, smoothWording } from "../layers/changes";
import { Heatmap } from "../layers/heatmap/heatmap";
import { loadShapes } from "../layers/load-shapes";
import { type Basis, type MapLayer, PLAIN_STYLE, type Wording } from "../layers/map-layer";
import { Places } from "../layers/places/places";
import { type Properties, Zones } from "../layers/zones/zones";
import { capitalise } from "../ui/format";
import { t } from "../ui/translate";
import { FlowPeriods } from "./flow-periods";
import type { Counted } from "./link";

type Zone = Feature<Geometry, Properties & { key?: string }>;

/** Counts of a period, or what is computed from them. */
type Values = {
  /** Identifies them among all of the series. */
  name: string;
  stored: BoxLayer["stored"];
  step: number;
  standsOut: (value: number) => boolean;
  marginOf: (value: number) => number;
  wording: Wording | null;
  /** Lower edges of the classes of changes; null of counts. */
  edges: readonly number[] | null;
};

/** Cells that stand out by a rule of their own: changes do so below zero, too. */
class RuledSurface extends Surface {
  constructor(
    opened: OpenSeries,
    layer: BoxLayer,
    private readonly values: Values,
    private readonly least: number,
    alike?: Surface,
  ) {
    super(opened.release.grid!, opened.release.inside, layer, alike);
  }

  override standsOut(box: number): boolean {
    return this.values.standsOut(this.value(box));
  }

  override noise(box: number): Noise {
    return { margin: this.values.marginOf(this.value(box)), threshold: this.least, label: "" };
  }
}

export class PeriodLayers {
  /** The classes of all periods, so that a colour says the same in each. */
  private readonly bases = new Map<string, Basis | null>();
  private surface: Surface | undefined;

  private constructor(
    private readonly opened: OpenSeries,
    private readonly zones: Zone[] | null,
    readonly flows: FlowPeriods | null,
  ) {}

  static async load(opened: OpenSeries): Promise<PeriodLayers> {
    const layer: Layer = opened.release.layers[0]!;
    const { pairs } = opened.series;
    const zones = layer.shape === "shapes" ? await loadShapes<Zone["properties"]>(layer, opened.scene) : null;
    return new PeriodLayers(opened, zones, zones && pairs ? new FlowPeriods(opened, pairs, zones) : null);
  }

  /** The counts that are shown. */
  tableOf(counted: Counted): Table {
    const { series } = this.opened;
    if (counted === "flows" && series.pairs) return series.pairs;
    return counted === "departures" && series.departures ? series.departures : series;
  }

  /** A period, styled. */
  period(at: number, smooth: boolean, counted: Counted, palette: Palette): MapLayer {
    if (counted === "flows" && this.flows) {
      const layer = this.flows.period(at);
      layer.restyle(this.flows.style(), palette);
      return layer;
    }
    const layer = this.make(this.values(at, smooth, counted));
    const basis = this.basis(smooth, counted, palette);
    layer.restyle(basis ? { ...PLAIN_STYLE, basis } : PLAIN_STYLE, palette);
    return layer;
  }

  /** The change of a period since another, which `since` names; the palette's ramp is for changes. */
  change(at: number, before: number, since: string, counted: Counted, palette: Palette): MapLayer {
    const { scene } = this.opened;
    const table = this.tableOf(counted);
    const { flows } = this;
    const ofFlows = counted === "flows" && flows;
    const least = table.byNoise + 1;
    const edges = changeEdges(least);
    const marginOf = (region: number): number | null => {
      const index = ofFlows ? ofFlows.pairWith(region) : region;
      return index === null ? null : changeMarginOf(table, at, before, index);
    };
    const noisy = { byNoise: table.byNoise, margin: table.listed ? null : table.changeMargin, marginOf };
    const layer = this.make({
      name: `change-${counted}-${at}-${before}`,
      stored: ofFlows ? ofFlows.changes(at, before) : changesOf(table, at, before),
      step: 1,
      standsOut: (change) => Math.abs(change) >= least,
      marginOf: () => table.changeMargin,
      wording: changeWording(scene.nouns, noisy, since, this.changeTitle(counted, since)),
      edges,
    });
    layer.restyle({ ...PLAIN_STYLE, basis: { edges, metres: null } }, palette);
    return layer;
  }

  /** The name of a region; "" of a cell. */
  nameOf(region: number): string {
    const layer = this.opened.release.layers[0]!;
    if (layer.shape === "points") return layer.names?.[region] ?? "";
    return this.zones?.[region]?.properties.name ?? "";
  }

  /** The title of a legend of changes; "" of squares and zones. */
  private changeTitle(counted: Counted, since: string): string {
    const { release, scene } = this.opened;
    const [noun, sum] = [t(scene.nouns.one), t(scene.nouns.sum)];
    if (release.layers[0]!.shape === "points") return t("More or fewer {noun} at each place than on {since}", { noun, since });
    if (!this.flows) return "";
    const place = this.flows.name;
    if (counted === "arrivals") return t("More or fewer {noun} arriving than on {since}", { noun: sum, since });
    if (counted === "departures") return t("More or fewer {noun} leaving than on {since}", { noun: sum, since });
    return this.flows.direction === "arrivals"
      ? t("More or fewer {noun} arriving at {place} than on {since}, by where they begin", { noun, place, since })
      : t("More or fewer {noun} leaving {place} than on {since}, by where they end", { noun, place, since });
  }

  private smoothTitle(counted: Counted): string {
    const { release, scene } = this.opened;
    const [noun, sum] = [t(scene.nouns.one), t(scene.nouns.sum)];
    if (release.layers[0]!.shape === "points") return capitalise(t("{noun} at each place, smoothed", { noun }));
    if (!this.flows) return "";
    return capitalise(counted === "arrivals" ? t("{noun} arriving, smoothed", { noun: sum }) : t("{noun} leaving, smoothed", { noun: sum }));
  }

  private values(at: number, smooth: boolean, counted: Counted): Values {
    const { scene } = this.opened;
    const table = this.tableOf(counted);
    const of = { marginOf: (value: number) => marginOf(table, value), edges: null };
    if (smooth && table.smoothed) {
      const standsOut = (value: number): boolean => value > 0;
      const wording = smoothWording(scene.nouns, this.smoothTitle(counted));
      return { name: `smooth-${counted}-${at}`, stored: smoothedOf(table, at), step: table.smoothStep, standsOut, wording, ...of };
    }
    const standsOut = (value: number): boolean => value > 0 && value >= table.threshold;
    const wording = this.flows ? endWording(scene.nouns, table.margin, counted === "arrivals") : null;
    return { name: `period-${counted}-${at}`, stored: countsOf(table, at), step: 1, standsOut, wording, ...of };
  }

  /** The classes of the period with the largest count. */
  private basis(smooth: boolean, counted: Counted, palette: Palette): Basis | null {
    const key = `${smooth} ${counted}`;
    if (!this.bases.has(key)) {
      const { at } = this.largest(counted);
      const layer = this.make(this.values(at, smooth, counted));
      layer.restyle(PLAIN_STYLE, palette);
      this.bases.set(key, layer.basis?.() ?? null);
    }
    return this.bases.get(key)!;
  }

  /** The largest count of all periods, and the first that has it. */
  private largest(counted: Counted): { count: number; at: number } {
    const { counts, regions } = this.tableOf(counted);
    let fullest = 0;
    for (let index = 1; index < counts.length; index++) if (counts[index]! > counts[fullest]!) fullest = index;
    return { count: counts[fullest] ?? 0, at: regions ? Math.floor(fullest / regions) : 0 };
  }

  private make(values: Values): MapLayer {
    const { name, stored, step, standsOut, wording, edges } = values;
    const { scene, series, release } = this.opened;
    const base = release.layers[0]!;
    if (this.zones) {
      const features = this.zones.map((zone, region): Zone => {
        const estimate = step * stored[region]!;
        const properties = { ...zone.properties, estimate, margin: values.marginOf(estimate), told: standsOut(estimate), region };
        return { ...zone, properties };
      });
      return new Zones(name, features, scene, wording);
    }
    if (base.shape === "points") {
      const layer: PointLayer = { ...base, name, stored, step, ranks: null };
      const largest = edges ? Array.from(stored, Math.abs).reduce((most, each) => Math.max(most, each), 1) : this.largest("arrivals").count;
      return new Places(layer, release, scene, { largest: Math.max(1, largest), standsOut, edges, wording });
    }
    const layer: BoxLayer = { ...(base as BoxLayer), name, stored, step };
    const surface = new RuledSurface(this.opened, layer, values, series.threshold, this.surface);
    this.surface ??= surface;
    return new Heatmap(surface, scene, wording);
  }
}
