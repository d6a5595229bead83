import { describe, expect, it } from "vitest";
import type { ReleaseArray } from "../data/release-array";
import { PLAIN_STYLE } from "./map-layer";
import { layerByZoom, openingLayer, openingStyle, readOpening } from "./opening";

const opening = readOpening('{"layer":"estimate","metres":200,"edges":{"estimate":[1.5,4]},"dots":"","shift":0}');
const release = { layers: [{ name: "partitions" }, { name: "estimate" }] } as ReleaseArray;

describe("what a map opens on", () => {
  it("is the layer that the page names, else the first", () => {
    expect(openingLayer(release, opening).name).toBe("estimate");
    expect(openingLayer(release, readOpening(undefined)).name).toBe("partitions");
  });

  it("states counts for the page's square whatever the reader chooses", () => {
    for (const style of [PLAIN_STYLE, { ...PLAIN_STYLE, scale: "linear" as const }, { ...PLAIN_STYLE, show: "margin" as const }]) {
      expect(openingStyle(style, opening, "estimate").metres).toBe(200);
    }
  });

  it("takes the page's classes only where the reader chose no others", () => {
    expect(openingStyle(PLAIN_STYLE, opening, "estimate").basis).toEqual({ edges: [1.5, 4], metres: 200 });
    expect(openingStyle({ ...PLAIN_STYLE, scale: "quantile" }, opening, "estimate").basis).toBeUndefined();
    expect(openingStyle({ ...PLAIN_STYLE, show: "margin" }, opening, "estimate").basis).toBeUndefined();
  });

  it("becomes dots where half of them are moved by sixty pixels", () => {
    const points = { ...opening, layer: "density", dots: "points", shift: 240 };
    expect(layerByZoom(points, 4.1)).toBe("density");
    expect(layerByZoom(points, 4)).toBe("points");
    expect(layerByZoom(opening, 0.1)).toBe("estimate");
  });
});
