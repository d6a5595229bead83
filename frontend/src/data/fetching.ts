/** Fetching of the files that a map is drawn from; errors hold messages for the reader. */
import type { Feature, FeatureCollection, Geometry } from "geojson";
import { t } from "../ui/translate";

/** Fetches a file. Throws an Error with the message that `words` gives for the HTTP status or a failed connection. */
export async function fetchFile(
  url: string,
  words: (status: string | number) => string,
): Promise<Response> {
  const response = await fetch(url).catch(() => null);
  if (!response?.ok) throw new Error(words(response?.status ?? t("no connection")));
  return response;
}

/** The features of a layer's GeoJSON file. */
export async function fetchShapes<Properties>(url: string): Promise<Feature<Geometry, Properties>[]> {
  const response = await fetchFile(url, (status) => t("The map's shapes did not load ({status}).", { status }));
  const { features } = (await response.json()) as FeatureCollection<Geometry, Properties>;
  return features;
}
