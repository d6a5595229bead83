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
};

/** The regions and flows of the three files of a release. */
export function choiceOf(
  flows: Feature<Geometry, FlowProperties>[],
  departures: Feature<Geometry, RegionProperties>[],
  arrivals: Feature<Geometry, RegionProperties>[],
): Choice {
  const regions = departures.map(({ properties, geometry }, id): Region => ({
    id,
    key: properties.key,
    name: properties.name,
    geometry,
    middle: centreOf(geometry),
    departures: countOf(properties),
    arrivals: countOf(arrivals[id]!.properties),
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

function countOf({ estimate, margin, threshold, other, other_margin }: RegionProperties): Count {
  return { value: estimate, margin, threshold, other, otherMargin: other_margin };
}
