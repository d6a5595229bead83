/** Layer of averages: the mean of a measure in each zone or square, from its GeoJSON file. */
import type { Feature, Geometry } from "geojson";
import { classEdges, rampSteps } from "../../colour/classes";
import { formatNumber, formatValue } from "../../ui/format";
import { t } from "../../ui/translate";
import { loadShapes } from "../load-shapes";
import { legendClasses, type LegendContent, type LoadLayer, type Show, type Spot } from "../map-layer";
import { Regions } from "../regions";

/** Mean and interval are null where there are too few records for a mean. */
export type Properties = {
  name?: string;
  mean: number | null;
  mean_low: number | null;
  mean_high: number | null;
  records: number;
  records_margin: number;
};

export const load: LoadLayer = async (layer, _release, scene) =>
  new Averages(layer.name, layer.title, layer.unit ?? "", await loadShapes<Properties>(layer, scene));

export class Averages<Own extends Properties = Properties> extends Regions<Own> {
  readonly shows: readonly Show[] = ["estimate", "margin"];
  readonly scales = false;

  constructor(
    name: string,
    private readonly title: string,
    protected readonly unit: string,
    features: Feature<Geometry, Own>[],
  ) {
    super(name, features);
  }

  legend(): LegendContent {
    const margin = this.style.show === "margin";
    return {
      title: margin ? t("Margin of error, {what}", { what: this.title }) : this.title,
      classes: legendClasses(this.edges, rampSteps(this.edges.length)),
      words: margin ? t("Larger is less certain") : "",
      keys: [{ swatch: "hatch", words: t("No estimate: too few records") }],
      note: this.note(),
    };
  }

  protected note(): string {
    return t("Press a region to see where its true average lies, 95 times in 100.");
  }

  protected value(properties: Own): number | null {
    if (properties.mean === null) return null;
    return this.style.show === "margin" ? halfWidth(properties) : properties.mean;
  }

  protected classes(values: number[]): number[] {
    return classEdges(values, false, "linear");
  }

  protected words(properties: Own): Pick<Spot, "figure" | "margin" | "note"> {
    return spotWords(properties, this.unit);
  }
}

/** The figure of a region with its interval, or that there is none, in words. */
export function spotWords(properties: Properties, unit: string): Pick<Spot, "figure" | "margin" | "note"> {
  const { mean, mean_low: low, mean_high: high, records, records_margin: margin } = properties;
  const about = t("about {count} records, give or take {margin}", {
    count: formatNumber(Math.max(0, Math.round(records))),
    margin: formatNumber(Math.max(1, Math.round(margin))),
  });
  if (mean === null || low === null || high === null) {
    return { figure: t("No estimate"), margin: "", note: t("too few records") };
  }
  const width = high - low;
  const values = { low: formatValue(low, width), high: formatValue(high, width) };
  return {
    figure: [formatValue(mean, width), unit].filter(Boolean).join("\u00a0"),
    margin: t("between {low} and {high}", values),
    note: about,
  };
}

function halfWidth({ mean_low, mean_high }: Properties): number {
  return (mean_high! - mean_low!) / 2;
}
