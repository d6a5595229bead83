/** Layers of a series: a period as drawn or smoothed, and the change between two periods. */
import type { Feature, Geometry } from "geojson";
import { type Palette } from "../colour/ramps";
import type { BoxLayer, Layer } from "../data/release-array";
import { changesOf, countsOf, type OpenSeries, smoothedOf } from "../data/series-array";
import { Surface } from "../data/surface";
import { Heatmap } from "../layers/heatmap/heatmap";
import { changeEdges, changeWording, smoothWording } from "../layers/changes";
import { loadShapes } from "../layers/load-shapes";
import { type Basis, type MapLayer, PLAIN_STYLE, type Wording } from "../layers/map-layer";
import { type Properties, Zones } from "../layers/zones/zones";

type Zone = Feature<Geometry, Properties>;

/** Counts of a period, or what is computed from them. */
type Values = {
  /** Identifies them among all of the series. */
  name: string;
  stored: BoxLayer["stored"];
  step: number;
  standsOut: (value: number) => boolean;
  wording: Wording | null;
};

/** Cells that stand out by a rule of their own: changes do so below zero, too. */
class RuledSurface extends Surface {
  constructor(opened: OpenSeries, layer: BoxLayer, private readonly rule: (value: number) => boolean) {
    super(opened.release.grid!, opened.release.inside, layer);
  }

  override standsOut(box: number): boolean {
    return this.rule(this.value(box));
  }
}

export class PeriodLayers {
  /** The classes of all periods, so that a colour says the same in each. */
  private readonly bases = new Map<string, Basis | null>();

  private constructor(private readonly opened: OpenSeries, private readonly zones: Zone[] | null) {}

  static async load(opened: OpenSeries): Promise<PeriodLayers> {
    const layer: Layer = opened.release.layers[0]!;
    const zones = layer.shape === "shapes" ? await loadShapes<Properties>(layer, opened.scene) : null;
    return new PeriodLayers(opened, zones);
  }

  /** A period, styled. */
  period(at: number, smooth: boolean, palette: Palette): MapLayer {
    const layer = this.make(this.values(at, smooth));
    const basis = this.basis(smooth, palette);
    layer.restyle(basis ? { ...PLAIN_STYLE, basis } : PLAIN_STYLE, palette);
    return layer;
  }

  /** The change of a period since another, which `since` names; the palette's ramp is for changes. */
  change(at: number, before: number, since: string, palette: Palette): MapLayer {
    const { series, scene } = this.opened;
    const least = series.byNoise + 1;
    const layer = this.make({
      name: `change-${at}-${before}`,
      stored: changesOf(series, at, before),
      step: 1,
      standsOut: (change) => Math.abs(change) >= least,
      wording: changeWording(scene.nouns, { margin: series.changeMargin, byNoise: series.byNoise }, since),
    });
    layer.restyle({ ...PLAIN_STYLE, basis: { edges: changeEdges(least), metres: null } }, palette);
    return layer;
  }

  /** The name of a region; "" of a cell. */
  nameOf(region: number): string {
    return this.zones?.[region]?.properties.name ?? "";
  }

  private values(at: number, smooth: boolean): Values {
    const { series, scene } = this.opened;
    if (smooth) {
      const standsOut = (value: number): boolean => value > 0;
      return { name: `smooth-${at}`, stored: smoothedOf(series, at), step: series.smoothStep, standsOut, wording: smoothWording(scene.nouns) };
    }
    const standsOut = (value: number): boolean => value > 0 && value >= series.threshold;
    return { name: `period-${at}`, stored: countsOf(series, at), step: 1, standsOut, wording: null };
  }

  /** The classes of the period with the largest count. */
  private basis(smooth: boolean, palette: Palette): Basis | null {
    const key = String(smooth);
    if (!this.bases.has(key)) {
      const { periods, regions, counts } = this.opened.series;
      let fullest = 0;
      for (let index = 1; index < counts.length; index++) if (counts[index]! > counts[fullest]!) fullest = index;
      const layer = this.make(this.values(Math.min(periods.length - 1, Math.floor(fullest / regions)), smooth));
      layer.restyle(PLAIN_STYLE, palette);
      this.bases.set(key, layer.basis?.() ?? null);
    }
    return this.bases.get(key)!;
  }

  private make({ name, stored, step, standsOut, wording }: Values): MapLayer {
    const { scene, series } = this.opened;
    const base = this.opened.release.layers[0]!;
    if (this.zones) {
      const { margin, threshold } = series;
      const features = this.zones.map((zone, at): Zone => {
        const estimate = step * stored[at]!;
        const properties = { ...zone.properties, estimate, margin, threshold, told: standsOut(estimate) };
        return { ...zone, properties };
      });
      return new Zones(name, features, scene, wording);
    }
    const layer: BoxLayer = { ...(base as BoxLayer), name, stored, step };
    return new Heatmap(new RuledSurface(this.opened, layer, standsOut), scene, wording);
  }
}
