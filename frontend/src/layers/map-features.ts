/** Features and colours as the map library takes them, for layers that it draws. */
import type { Feature, FeatureCollection, Geometry } from "geojson";
import type { ExpressionSpecification, GeoJSONSource, Map as MapLibre } from "maplibre-gl";
import type { Palette } from "../colour/ramps";

export function collection(features: Feature[]): FeatureCollection {
  return { type: "FeatureCollection", features };
}

export function feature(geometry: Geometry, properties: Record<string, unknown> = {}, id?: number): Feature {
  return { type: "Feature", geometry, properties, ...(id === undefined ? {} : { id }) };
}

/** Exchanges the features of a source. */
export function setFeatures(map: MapLibre, source: string, features: Feature[]): void {
  map.getSource<GeoJSONSource>(source)!.setData(collection(features));
}

/** The colour of each feature by its property `step`, that of land where it has none. */
export function stepColours(palette: Palette): ExpressionSpecification {
  const colours = palette.ramp.flatMap((colour, step) => [step, colour]);
  return ["match", ["get", "step"], ...colours, palette.land] as unknown as ExpressionSpecification;
}
