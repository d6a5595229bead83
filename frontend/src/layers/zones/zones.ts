/** Layer of zones: counts of declared zones as a choropleth, from its GeoJSON file. */
import type { Feature, Geometry } from "geojson";
import { classEdges, rampSteps } from "../../colour/classes";
import type { Scene } from "../../data/scene";
import { capitalise, formatMargin, formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import { loadShapes } from "../load-shapes";
import { legendClasses, type LegendContent, type LoadLayer, type Show, type Spot, type Wording } from "../map-layer";
import { Regions } from "../regions";
import { doubtNote, countedRange } from "../uncertainty";

export type Properties = {
  name?: string;
  estimate: number;
  margin?: number;
  threshold?: number;
  /** Whether it is coloured, where the threshold does not say so. */
  told?: boolean;
  /** Its index in the layer, for wordings. */
  region?: number;
};

export const load: LoadLayer = async (layer, _release, scene) =>
  new Zones(layer.name, await loadShapes<Properties>(layer, scene), scene);

export class Zones extends Regions<Properties> {
  readonly shows: readonly Show[];
  readonly scales = true;
  private readonly margins: number[];

  constructor(
    name: string,
    features: Feature<Geometry, Properties>[],
    private readonly scene: Scene,
    /** What it says instead, where its values are not counts as they were drawn. */
    private readonly wording: Wording | null = null,
  ) {
    super(name, features);
    const hasMargins = features.some(({ properties }) => properties.margin !== undefined);
    this.shows = hasMargins ? ["estimate", "margin"] : ["estimate"];
    this.margins = features.map(({ properties }) => properties.margin ?? 0);
  }

  legend(): LegendContent {
    const values = { noun: t(this.scene.nouns.one) };
    const margin = this.style.show === "margin";
    const classes = legendClasses(this.edges, rampSteps(this.edges.length));
    const keys = margin ? [] : [{ swatch: "hatch", words: t("Too few to tell from none") }];
    if (this.wording) return { classes, words: "", keys, ...this.wording.legend("") };
    return {
      title: margin ? t("Margin of error, {noun} per zone", values) : capitalise(t("{noun} per zone", values)),
      classes,
      words: margin ? t("Larger is less certain") : "",
      keys,
      note: this.marginWords(),
    };
  }

  protected value(properties: Properties): number | null {
    if (this.style.show === "margin") return properties.margin ?? 0;
    return standsOut(properties) ? properties.estimate : null;
  }

  protected classes(values: number[]): number[] {
    return classEdges(values, this.style.show === "estimate", this.style.scale);
  }

  protected words(properties: Properties): Pick<Spot, "figure" | "margin" | "note"> {
    const { estimate, margin } = properties;
    if (this.wording) return this.wording.words(estimate, standsOut(properties), "", properties.region ?? 0);
    const counting = t(this.scene.nouns.one);
    return {
      figure: formatNumber(estimate),
      margin: margin === undefined ? counting : `${formatMargin(margin)} ${counting}`,
      note: doubtNote(estimate, standsOut(properties)),
    };
  }

  private marginWords(): string {
    if (this.shows.length === 1 || this.margins.length === 0) return "";
    return t("Every zone is give or take {range} {counting}.", countedRange(this.margins, t(this.scene.nouns.one)));
  }
}

function standsOut({ estimate, threshold, told }: Properties): boolean {
  return told ?? estimate >= (threshold ?? -Infinity);
}
