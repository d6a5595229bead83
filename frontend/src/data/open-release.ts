/** Loading of a release for drawing: its array and its basemap. */
import { t } from "../ui/translate";
import { type Basemap, fetchBasemap } from "./basemap";
import { fetchFile } from "./fetching";
import { decodeReleaseArray, type ReleaseArray } from "./release-array";
import type { Scene } from "./scene";

export type OpenRelease = { release: ReleaseArray; scene: Scene };

/**
 * Loads a release; `array` is the address of its `map.bin`, and other files stand beside that.
 * `basemap` is an address, or the basemap while it loads.
 */
export async function openRelease(array: string, basemap: string | Promise<Basemap>): Promise<OpenRelease> {
  const [release, ground] = await Promise.all([
    fetchArray(array),
    typeof basemap === "string" ? fetchGround(basemap) : basemap,
  ]);
  const { bounds, area, counting, nouns } = release;
  const urlOf = (file: string): string => array.replace(/[^/]*$/, encodeURIComponent(file));
  return { release, scene: { bounds, area, counting, nouns, basemap: ground, urlOf } };
}

export async function fetchArray(url: string): Promise<ReleaseArray> {
  const response = await fetchFile(url, (status) =>
    t(
      "The map's data did not load ({status}). The table and the files below hold the same figures; reload the page to try again.",
      { status },
    ),
  );
  return decodeReleaseArray(await response.arrayBuffer());
}

/** Loads a basemap, or takes an empty one where it does not load. */
export function fetchGround(url: string): Promise<Basemap> {
  return fetchBasemap(url).catch(() => withoutOutlines());
}

/** An empty basemap: a map without a coast is better than none. */
export function withoutOutlines(): Basemap {
  const empty = { type: "MultiPolygon" as const, coordinates: [] };
  return { land: empty, inside: empty, coast: { type: "MultiLineString", coordinates: [] }, bounds: null, ground: [] };
}
