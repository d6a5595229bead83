/** Land, water, waterlines, coast and the study area's outline, as MapLibre layers. */
import type { Feature, Geometry } from "geojson";
import type { LayerSpecification, Map as MapLibre, SourceSpecification } from "maplibre-gl";
import { mix, type Palette } from "../colour/ramps";
import { type Basemap, WATERLINES } from "../data/basemap";
import type { ReleaseArray } from "../data/release-array";

const STUDY_WIDTH = 1.1;
const STUDY_DASHES = [7, 3, 1.2, 3];

/** Style of a map without a release: what lies under its layers, then the coast and the study area over them. */
export function basemapStyle(basemap: Basemap, area: ReleaseArray["area"], palette: Palette) {
  return {
    version: 8 as const,
    sources: {
      land: source(basemap.land),
      inside: source(basemap.inside),
      coast: source(basemap.coast),
      area: source(area),
    },
    layers: [...under(palette), ...over(palette)],
    transition: { duration: 0 },
  };
}

/** The lowest map layer above those of a release. */
export const FIRST_OVER = "coast";

export function recolourBasemap(map: MapLibre, palette: Palette): void {
  for (const layer of [...under(palette), ...over(palette)]) {
    for (const [name, value] of Object.entries(layer.paint ?? {})) {
      if (name.endsWith("-color")) map.setPaintProperty(layer.id, name as never, value as never);
    }
  }
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
      id: FIRST_OVER,
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
