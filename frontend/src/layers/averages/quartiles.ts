/** Layer of quartiles: the median of a measure in each zone or square, with both quartiles. */
import type { Feature, Geometry } from "geojson";
import { formatValue } from "../../ui/format";
import { t } from "../../ui/translate";
import { loadShapes } from "../load-shapes";
import type { LoadLayer, Spot } from "../map-layer";
import { Averages, type Properties as Typical, spotWords } from "./averages";

/** Quartiles and intervals are null where there are too few records. */
export type Properties = Omit<Typical, "mean" | "mean_low" | "mean_high"> & {
  median: number | null;
  median_low: number | null;
  median_high: number | null;
  lower_quartile: number | null;
  upper_quartile: number | null;
};

type Shown = Properties & Typical;

export const load: LoadLayer = async (layer, _release, scene) =>
  new Quartiles(layer.name, layer.title, layer.unit ?? "", await loadShapes<Properties>(layer, scene));

export class Quartiles extends Averages<Shown> {
  constructor(name: string, title: string, unit: string, features: Feature<Geometry, Properties>[]) {
    super(name, title, unit, features.map((each) => ({ ...each, properties: shown(each.properties) })));
  }

  protected override note(): string {
    return t("Press a region to see where its true median lies, 95 times in 100, and its quartiles.");
  }

  protected override words(properties: Shown): Pick<Spot, "figure" | "margin" | "note"> {
    const words = spotWords(properties, this.unit);
    const { lower_quartile: lower, upper_quartile: upper } = properties;
    if (lower === null || upper === null) return words;
    const width = upper - lower;
    const half = t("half of them from about {lower} to {upper}", {
      lower: formatValue(lower, width),
      upper: formatValue(upper, width),
    });
    return { ...words, note: `${words.note}; ${half}` };
  }
}

/** The median takes the place of the mean, by which a layer of averages is coloured. */
function shown(properties: Properties): Shown {
  const { median: mean, median_low: mean_low, median_high: mean_high } = properties;
  return { ...properties, mean, mean_low, mean_high };
}
