/** Regions and flows of a release, and the ones that the reader has chosen. */
import type { Feature, Geometry } from "geojson";
import type { Degrees } from "../../geometry/mercator";
import { centreOf } from "../../geometry/shapes";

/** A count with its margin and the value from which it stands out. */
export type Count = { value: number; margin: number; threshold: number; other: number; otherMargin: number };

export type Region = {
  id: number;
  key: string;
  name: string;
  geometry: Geometry;
  middle: Degrees;
  arrivals: Count;
  departures: Count;
  /** Trips that stay in the region, where they were counted. */
  within: { value: number; margin: number } | null;
};

export type Flow = { from: Region; to: Region; value: number; margin: number };

export type Direction = "arrivals" | "departures";

/** The most arcs that are drawn at a time. */
export const MOST_ARCS = 40;

/** The flows of a chosen region in one direction, or the largest of all. */
export class Choice {
  region: Region | null;
  direction: Direction = "arrivals";

  constructor(
    readonly regions: readonly Region[],
    private readonly flows: readonly Flow[],
  ) {
    this.region = busiest(regions, flows);
  }

  /** Chooses a region; choosing it again switches between arrivals and departures. */
  take(region: Region | null): void {
    const again = region !== null && region === this.region;
    this.direction = again && this.direction === "arrivals" ? "departures" : "arrivals";
    this.region = region;
  }

  /** The chosen flows that are listed, largest first. */
  get shown(): Flow[] {
    const { region } = this;
    const own = region ? this.flows.filter((flow) => this.end(flow) === region) : [...this.flows];
    return own.sort((one, other) => other.value - one.value);
  }

  get arcs(): Flow[] {
    return this.shown.slice(0, MOST_ARCS);
  }

  /** The region at the other end of a flow of the chosen one. */
  partner(flow: Flow): Region {
    return this.direction === "arrivals" ? flow.from : flow.to;
  }

  private end(flow: Flow): Region {
    return this.direction === "arrivals" ? flow.to : flow.from;
  }
}

/** The region with most arrivals among those that a flow reaches. */
function busiest(regions: readonly Region[], flows: readonly Flow[]): Region | null {
  const reached = new Set(flows.map(({ to }) => to));
  const found = regions.filter((region) => reached.has(region));
  return found.sort((one, other) => other.arrivals.value - one.arrivals.value)[0] ?? null;
}

export type FlowProperties = { origin: string; destination: string; estimate: number; margin: number };

export type RegionProperties = {
  key: string;
  name: string;
  estimate: number;
  margin: number;
  threshold: number;
  other: number;
  other_margin: number;
  within?: number;
  within_margin?: number;
  slice_margin?: number;
  slice_threshold?: number;
  /** The count_, other_ and other_margin_ of each slice of time. */
  [ofSlice: string]: unknown;
};

/** The regions and flows of the three files of a release; `slice` is the key of a slice of time, if any. */
export function choiceOf(
  flows: Feature<Geometry, FlowProperties>[],
  departures: Feature<Geometry, RegionProperties>[],
  arrivals: Feature<Geometry, RegionProperties>[],
  slice = "",
): Choice {
  const regions = departures.map(({ properties, geometry }, id): Region => ({
    id,
    key: properties.key,
    name: properties.name,
    geometry,
    middle: centreOf(geometry),
    within: slice || properties.within === undefined ? null : { value: properties.within, margin: properties.within_margin! },
    departures: countOf(properties, slice),
    arrivals: countOf(arrivals[id]!.properties, slice),
  }));
  const byKey = new Map(regions.map((region) => [region.key, region]));
  return new Choice(
    regions,
    flows.map(({ properties }): Flow => ({
      from: byKey.get(properties.origin)!,
      to: byKey.get(properties.destination)!,
      value: properties.estimate,
      margin: properties.margin,
    })),
  );
}

function countOf(region: RegionProperties, slice: string): Count {
  if (slice) {
    const of = (column: string): number => region[`${column}_${slice}`] as number;
    return {
      value: of("count"),
      margin: region.slice_margin!,
      threshold: region.slice_threshold!,
      other: of("other"),
      otherMargin: of("other_margin"),
    };
  }
  const { estimate, margin, threshold, other, other_margin } = region;
  return { value: estimate, margin, threshold, other, otherMargin: other_margin };
}
