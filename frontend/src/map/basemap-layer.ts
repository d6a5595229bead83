/** Land, water, waterlines, coast, streets and names, and the study area's outline, as MapLibre layers. */
import type { Feature, Geometry } from "geojson";
import type { LayerSpecification, Map as MapLibre, SourceSpecification } from "maplibre-gl";
import { mix, type Palette } from "../colour/ramps";
import { type Basemap, type Ground, isOutside, WATERLINES } from "../data/basemap";
import type { ReleaseArray } from "../data/release-array";
import { GROUND_FONTS, groundLayers, nameLayers, placesNamed } from "./ground-layers";

const STUDY_WIDTH = 1.1;
const STUDY_DASHES = [7, 3, 1.2, 3];

/** Style of a map without a release: what lies under its layers, then the coast and the study area over them. */
export function basemapStyle(basemap: Basemap, area: ReleaseArray["area"], palette: Palette) {
  return {
    version: 8 as const,
    "font-faces": GROUND_FONTS,
    sources: {
      ...Object.fromEntries(basemap.ground.map((ground, i) => [groundName(i), vectorSource(ground)])),
      land: source(basemap.land),
      inside: source(basemap.inside),
      coast: source(basemap.coast),
      area: source(area),
      [NAMES]: namesSource(basemap),
    },
    layers: layersOf(basemap.ground, palette),
    transition: { duration: 0 },
  };
}

/** The lowest map layer above those of a release. */
export function firstOver(basemap: Basemap): string {
  return basemap.ground.length ? `${groundName(0)}-roads` : COAST;
}

/** Shows or hides streets, names and all else of the ground; without it, the largest places keep their names. */
export function showStreets(map: MapLibre, basemap: Basemap, shown: boolean): void {
  const names = new Set(basemap.ground.map((_, i) => groundName(i)));
  for (const layer of map.getStyle().layers) {
    if (!("source" in layer) || !names.has(layer.source as string)) continue;
    map.setLayoutProperty(layer.id, "visibility", shown ? "visible" : "none");
  }
  map.setFilter(`${NAMES}-places`, placesNamed(shown));
}

export function recolourBasemap(map: MapLibre, basemap: Basemap, palette: Palette): void {
  for (const layer of layersOf(basemap.ground, palette)) {
    for (const [name, value] of Object.entries(layer.paint ?? {})) {
      if (name.endsWith("-color")) map.setPaintProperty(layer.id, name as never, value as never);
    }
  }
}

const COAST = "coast";
/** Names of the largest places, where the ground does not write them itself. */
const NAMES = "names";

function layersOf(ground: readonly Ground[], palette: Palette): LayerSpecification[] {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const language = document.documentElement.lang.slice(0, 2);
  const layers = ground.map((_, i) => groundLayers(groundName(i), palette, dark, language));
  return [
    ...under(palette),
    ...layers.flatMap((each) => each.under),
    ...layers.flatMap((each) => each.over),
    ...over(palette),
    ...nameLayers(NAMES, palette, dark),
  ];
}

function groundName(index: number): string {
  return `ground-${index}`;
}

function vectorSource({ tiles, bounds, zooms }: Ground): SourceSpecification {
  return {
    type: "vector",
    tiles: [isOutside({ tiles }) ? tiles : location.origin + tiles],
    bounds: [...bounds],
    minzoom: zooms[0],
    maxzoom: zooms[1],
  };
}

function namesSource({ names = [], ground }: Basemap): SourceSpecification {
  const [countries, others] = [true, false].map((wanted) => names.filter(({ kind }) => (kind === "country") === wanted));
  const ranked = [...others!.map((each, rank) => ({ ...each, rank })), ...countries!.map((each, rank) => ({ ...each, rank }))];
  const features = ranked.map(({ name, kind, at, rank }): Feature => {
    const own = ground.some(({ bounds: [west, south, east, north] }) => at[0] >= west && at[0] <= east && at[1] >= south && at[1] <= north);
    return { type: "Feature", properties: { name, kind, rank, own }, geometry: { type: "Point", coordinates: [...at] } };
  });
  return { type: "geojson", data: { type: "FeatureCollection", features } };
}

function source(geometry: Geometry): SourceSpecification {
  const data: Feature = { type: "Feature", properties: {}, geometry };
  return { type: "geojson", data, maxzoom: 14, tolerance: 0.3 };
}

function under(palette: Palette): LayerSpecification[] {
  return [
    { id: "water", type: "background", paint: { "background-color": palette.water } },
    ...WATERLINES.flatMap(([distance, strength]) => waterline(palette, distance, strength)),
    { id: "land", type: "fill", source: "land", paint: { "fill-color": palette.outside } },
    { id: "inside", type: "fill", source: "inside", paint: { "fill-color": palette.land } },
  ];
}

/** One waterline: a line along the coast, and water over all but its rim. Land later hides the inner half. */
function waterline(palette: Palette, distance: number, strength: number): LayerSpecification[] {
  const line = (id: string, colour: string, width: number): LayerSpecification => ({
    id: `${id}-${distance}`,
    type: "line",
    source: "coast",
    layout: { "line-join": "round", "line-cap": "round" },
    paint: { "line-color": colour, "line-width": width },
  });
  return [
    line("waterline", mix(palette.water, palette.waterline, strength), 2 * distance + 1.5),
    line("waterline-inner", palette.water, 2 * distance - 0.1),
  ];
}

function over(palette: Palette): LayerSpecification[] {
  return [
    {
      id: COAST,
      type: "line",
      source: "coast",
      layout: { "line-join": "round" },
      paint: { "line-color": palette.coast, "line-width": 0.9 },
    },
    {
      id: "area",
      type: "line",
      source: "area",
      paint: {
        "line-color": palette.study,
        "line-width": STUDY_WIDTH,
        "line-dasharray": STUDY_DASHES.map((pixels) => pixels / STUDY_WIDTH),
      },
    },
  ];
}
