import { expect, it } from "vitest";
import type { PlaceName } from "../data/basemap";
import { placeOf } from "../geometry/place";
import { placeNames } from "./names";

const PLACE = placeOf({ zoom: 8, longitude: 10, latitude: 50 }, 400, 300);
const wide = (name: string): number => 7 * name.length;

function city(name: string, longitude: number, latitude: number): PlaceName {
  return { name, kind: "city", at: [longitude, latitude] };
}

it("writes the first of two names that would overlap, and those with room", () => {
  const names = [city("Large", 10, 50), city("Small", 10.01, 50), city("Apart", 10.3, 50.2)];
  expect(placeNames(names, PLACE, wide, 11).map(({ name }) => name)).toEqual(["Large", "Apart"]);
});

it("writes no name that the frame would cut, or that lies elsewhere", () => {
  const edge = PLACE.width * PLACE.perPixel;
  expect(edge).toBeGreaterThan(0);
  const names = [city("A rather long name at the edge", 10.9, 50), city("Far", 40, 20)];
  expect(placeNames(names, PLACE, wide, 11)).toEqual([]);
});

it("writes more names on larger maps, and countries in capitals", () => {
  const names = Array.from({ length: 40 }, (_, i) => city("x", 9.2 + (i % 8) * 0.2, 49.7 + Math.floor(i / 8) * 0.13));
  expect(placeNames(names, PLACE, wide, 11).length).toBe(8);
  expect(placeNames([{ name: "Land", kind: "country", at: [10, 50] }], PLACE, wide, 11)[0]!.name).toBe("LAND");
});
