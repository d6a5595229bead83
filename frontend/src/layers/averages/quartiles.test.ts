import { describe, expect, it } from "vitest";
import type { Feature, Polygon } from "geojson";
import { PLAIN_STYLE } from "../map-layer";
import { type Properties, Quartiles } from "./quartiles";

const TOLD: Properties = {
  name: "North",
  median: 31.42,
  median_low: 30,
  median_high: 34,
  lower_quartile: 24.1,
  upper_quartile: 40.9,
  records: 402.3,
  records_margin: 24.6,
};
const UNTOLD: Properties = { ...TOLD, median: null, median_low: null, median_high: null, lower_quartile: null, upper_quartile: null };

function square(west: number, properties: Properties): Feature<Polygon, Properties> {
  const ring = [[west, 0], [west + 1, 0], [west + 1, 1], [west, 1], [west, 0]];
  return { type: "Feature", properties, geometry: { type: "Polygon", coordinates: [ring] } };
}

describe("quartiles", () => {
  const layer = new Quartiles("quartiles", "Median: Speed, km/h", "km/h", [
    square(0, TOLD),
    square(1, UNTOLD),
    square(2, { ...TOLD, median: 90, upper_quartile: null }),
  ]);
  layer.restyle(PLAIN_STYLE, { ramp: ["a", "b", "c", "d", "e", "f", "g"] } as never);

  it("say the median, its interval, and where half of the values are", () => {
    const spot = layer.at({ longitude: 0.5, latitude: 0.5 })!;
    expect(spot.figure).toBe("31.4\u00a0km/h");
    expect(spot.margin).toBe("between 30.0 and 34.0");
    expect(spot.note).toBe("about 402 records, give or take 25; half of them from about 24 to 41");
  });

  it("tell neither what there are too few records for nor a quartile that is withheld", () => {
    expect(layer.at({ longitude: 1.5, latitude: 0.5 })!.figure).toBe("No estimate");
    expect(layer.at({ longitude: 2.5, latitude: 0.5 })!.note).not.toContain("half");
  });

  it("are coloured by the median", () => {
    expect(layer.basis().edges[0]).toBeCloseTo(31.42);
    expect(layer.legend().title).toBe("Median: Speed, km/h");
  });
});
