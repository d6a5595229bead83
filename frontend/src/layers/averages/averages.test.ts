import { describe, expect, it } from "vitest";
import type { Feature, Polygon } from "geojson";
import { PLAIN_STYLE } from "../map-layer";
import { Averages, type Properties, spotWords } from "./averages";

const TOLD: Properties = { name: "North", mean: 31.42, mean_low: 30.1, mean_high: 32.9, records: 402.3, records_margin: 24.6 };
const UNTOLD: Properties = { mean: null, mean_low: null, mean_high: null, records: -3, records_margin: 24.6 };

function square(west: number, properties: Properties): Feature<Polygon, Properties> {
  const ring = [[west, 0], [west + 1, 0], [west + 1, 1], [west, 1], [west, 0]];
  return { type: "Feature", properties, geometry: { type: "Polygon", coordinates: [ring] } };
}

describe("averages", () => {
  it("say the mean with its unit and interval", () => {
    expect(spotWords(TOLD, "km/h")).toEqual({
      figure: "31.4\u00a0km/h",
      margin: "between 30.1 and 32.9",
      note: "about 402 records, give or take 25",
    });
  });

  it("tell no figure where there are too few records", () => {
    const words = spotWords(UNTOLD, "km/h");
    expect(words.figure).toBe("No estimate");
    expect(words.margin).toBe("");
  });

  it("hatch what is not told, and class the rest by the mean", () => {
    const layer = new Averages("averages", "Speed, km/h", "km/h", [
      square(0, TOLD),
      square(1, UNTOLD),
      square(2, { ...TOLD, mean: 90, mean_low: 88, mean_high: 92 }),
    ]);
    layer.restyle(PLAIN_STYLE, { ramp: ["a", "b", "c", "d", "e", "f", "g"] } as never);
    expect(layer.legend().title).toBe("Speed, km/h");
    expect(layer.legend().classes.length).toBeGreaterThan(1);
    expect(layer.basis().edges[0]).toBeCloseTo(31.42);
    expect(layer.at({ longitude: 1.5, latitude: 0.5 })?.figure).toBe("No estimate");
    expect(layer.at({ longitude: 2.5, latitude: 0.5 })?.figure).toBe("90.0\u00a0km/h");
  });
});
