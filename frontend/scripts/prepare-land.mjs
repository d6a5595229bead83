// Turns Natural Earth's land (1:10m, public domain, as packaged by world-atlas) into one compact
// GeoJSON that the server clips to a study area: frontend/dist/land.json.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { feature } from "topojson-client";

const require = createRequire(import.meta.url);
const topology = JSON.parse(readFileSync(require.resolve("world-atlas/land-10m.json"), "utf8"));
const land = feature(topology, topology.objects.land);
const polygons = land.features.flatMap(({ geometry }) =>
  geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates,
);
// Four decimals are about ten metres, finer than the source.
const round = (value) => Math.round(value * 1e4) / 1e4;
const coordinates = polygons.map((rings) =>
  rings.map((ring) => ring.map(([longitude, latitude]) => [round(longitude), round(latitude)])),
);
const target = new URL("../dist/land.json", import.meta.url);
writeFileSync(target, JSON.stringify({ type: "MultiPolygon", coordinates }));
console.log(`land.json: ${coordinates.length} polygons, ${statSync(target).size} bytes`);
