/** Flows of a series: those of a period as arcs, and the changes of one region's flows. */
import type { Feature, Geometry } from "geojson";
import { classEdges } from "../colour/classes";
import { changesOf, countsOf, marginOf, type OpenSeries, type Pairs } from "../data/series-array";
import type { Direction, FlowProperties, RegionProperties } from "../layers/flows/choice";
import { Flows } from "../layers/flows/flows";
import { PLAIN_STYLE, type Style } from "../layers/map-layer";

type Zone = Feature<Geometry, { key?: string; name?: string }>;

export class FlowPeriods {
  /** The region whose flows are shown, at first the one with most arrivals in the newest period. */
  region: number;
  direction: Direction = "arrivals";

  constructor(
    private readonly opened: OpenSeries,
    private readonly pairs: Pairs,
    private readonly zones: readonly Zone[],
  ) {
    const newest = [...countsOf(opened.series, opened.series.periods.length - 1)];
    this.region = newest.reduce((most, count, at) => (count > newest[most]! ? at : most), 0);
  }

  get name(): string {
    return this.nameOf(this.region);
  }

  nameOf(region: number): string {
    return this.zones[region]?.properties.name ?? "";
  }

  /** Chooses a region; choosing it again switches between arrivals and departures. */
  take(region: number): void {
    const again = region === this.region;
    this.direction = again && this.direction === "arrivals" ? "departures" : "arrivals";
    this.region = region;
  }

  /** The flows of a period, not styled. */
  period(at: number): Flows {
    const { pairs, zones } = this;
    const { series, release, scene } = this.opened;
    const keys = zones.map(({ properties }) => properties.key ?? "");
    const flows: Feature<Geometry, FlowProperties>[] = [];
    countsOf(pairs, at).forEach((estimate, pair) => {
      if (!estimate) return;
      const properties = {
        origin: keys[pairs.origin[pair]!]!,
        destination: keys[pairs.destination[pair]!]!,
        estimate,
        margin: marginOf(pairs, estimate),
      };
      flows.push({ type: "Feature", geometry: { type: "Point", coordinates: [] }, properties });
    });
    const [arrivals, departures] = [series, series.departures!].map((table) =>
      zones.map((zone, region): Feature<Geometry, RegionProperties> => {
        const { margin, threshold } = table;
        const counts = { estimate: countsOf(table, at)[region]!, margin, threshold, other: 0, other_margin: 0 };
        return { ...zone, properties: { key: keys[region]!, name: this.nameOf(region), ...counts } };
      }),
    );
    const layer = new Flows("flows", flows, departures!, arrivals!, release, scene.nouns);
    layer.take(keys[this.region]!, this.direction);
    return layer;
  }

  /** The style of all periods, so that a colour says the same in each. */
  style(): Style {
    const counts: number[] = [];
    const { series } = this.opened;
    for (const pair of this.ofRegion().values()) {
      series.periods.forEach((_, at) => counts.push(countsOf(this.pairs, at)[pair]!));
    }
    const listed = counts.filter((count) => count > 0);
    return { ...PLAIN_STYLE, basis: { edges: classEdges(listed, true, "log"), metres: null } };
  }

  /** The changes of the chosen region's flows, by the region at their other end. */
  changes(at: number, before: number): Int32Array {
    const all = changesOf(this.pairs, at, before);
    const changes = new Int32Array(this.zones.length);
    for (const [partner, pair] of this.ofRegion()) changes[partner] = all[pair]!;
    return changes;
  }

  /** The pair of the chosen region with another; null where no map lists one. */
  pairWith(partner: number): number | null {
    return this.ofRegion().get(partner) ?? null;
  }

  /** The pairs of the chosen region, by the region at their other end. */
  private ofRegion(): Map<number, number> {
    const { origin, destination } = this.pairs;
    const [own, other] = this.direction === "arrivals" ? [destination, origin] : [origin, destination];
    const found = new Map<number, number>();
    own.forEach((region, pair) => {
      if (region === this.region) found.set(other[pair]!, pair);
    });
    return found;
  }
}
