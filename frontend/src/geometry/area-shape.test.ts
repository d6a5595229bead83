import { describe, expect, it } from "vitest";
import { fromBounds, fromCorners, fromOpposite, linkCorners, readBounds, readGeojson } from "./area-shape";

const square = { type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]] };
const feature = (geometry: object) => ({ type: "Feature", properties: {}, geometry });

describe("an area", () => {
  it("of corners is closed and runs counterclockwise", () => {
    expect(fromCorners([[0, 0], [0, 1], [1, 1], [1, 0]]).coordinates[0]).toEqual([
      [1, 0], [1, 1], [0, 1], [0, 0], [1, 0],
    ]);
  });

  it("is found in any GeoJSON with polygons", () => {
    expect(readGeojson(JSON.stringify(square))).toEqual(square);
    expect(readGeojson(JSON.stringify(feature(square)))).toEqual(square);
    const many = { type: "FeatureCollection", features: [feature(square), feature({ type: "Point", coordinates: [1, 1] }), feature(square)] };
    expect(readGeojson(JSON.stringify(many)).type).toBe("MultiPolygon");
  });

  it.each([
    ["no JSON", "hello", "not GeoJSON"],
    ["nothing", "null", "no polygon"],
    ["a point", '{"type":"Point","coordinates":[1,2]}', "no polygon"],
    ["an empty collection", '{"type":"FeatureCollection"}', "no polygon"],
    ["metres", '{"type":"Polygon","coordinates":[[[500000,1],[500001,1],[500001,2],[500000,1]]]}', "corner"],
    ["too few corners", '{"type":"Polygon","coordinates":[[[1,1],[2,2],[1,1]]]}', "corner"],
    ["no coordinates in a ring", '{"type":"Polygon","coordinates":[[[],[],[],[]]]}', "corner"],
  ])("is not found in %s, and the message says why", (_, text, words) => {
    expect(() => readGeojson(text)).toThrow(words);
  });

  it("may be typed by its sides", () => {
    expect(readBounds(["12,5", "55.6", " 12.6 ", "55.7"])).toEqual([12.5, 55.6, 12.6, 55.7]);
    for (const sides of [["", "1", "2", "3"], ["x", "1", "2", "3"], ["5", "1", "2", "3"], ["1", "3", "2", "3"], ["-181", "1", "2", "3"]]) {
      expect(() => readBounds(sides)).toThrow();
    }
  });

  it("is in the link where it is simple", () => {
    expect(linkCorners(fromBounds([12.5, 55.6, 12.6, 55.7]))).toHaveLength(4);
    expect(linkCorners({ type: "Polygon", coordinates: [square.coordinates[0]!, square.coordinates[0]!] })).toBeNull();
  });

  it("lies between two corners, in whichever order they come", () => {
    const box = fromBounds([1, 2, 3, 4]);
    for (const [one, other] of [[[1, 2], [3, 4]], [[3, 4], [1, 2]], [[1, 4], [3, 2]], [[3, 2], [1, 4]]] as const) {
      expect(fromOpposite([...one], [...other])).toEqual(box);
    }
  });
});
