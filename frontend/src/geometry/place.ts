/** The part of the Mercator plane that a canvas shows, and conversions between its pixels and degrees. */
import { type Degrees, groundScale, toDegrees, toMercator, WORLD } from "./mercator";

/** West, south, east, north in degrees. */
export type Bounds = [west: number, south: number, east: number, north: number];

/** A position on a canvas in CSS pixels. */
export type Pixel = { x: number; y: number };

/** The north-west corner in Mercator metres, and Mercator metres to a pixel. */
export type Corner = { west: number; north: number; perPixel: number };

/** A canvas of a size in CSS pixels laid on the plane. */
export type Place = Corner & { width: number; height: number };

/** What an interactive map shows: its centre and MapLibre's zoom. */
export type View = { zoom: number; latitude: number; longitude: number };

/** Pixels around the study area on a map that nobody has moved. */
export const PADDING = 22;

/** Side of the whole world in pixels at zoom 0. */
const TILE = 512;

/** Mercator metres to a CSS pixel at a zoom. */
export function perPixelAt(zoom: number): number {
  return WORLD / (TILE * 2 ** zoom);
}

/** Metres on the ground to a CSS pixel in the middle of a place. */
export function groundPerPixel({ north, height, perPixel }: Place): number {
  return perPixel * groundScale(toDegrees(0, north - (height / 2) * perPixel).latitude);
}

/** The zoom at which so many Mercator metres fill so many pixels. */
export function zoomFor(metres: number, pixels: number): number {
  return Math.log2((pixels / metres) * (WORLD / TILE));
}

export function pixelOf({ west, north, perPixel }: Corner, position: Degrees): Pixel {
  const { x, y } = toMercator(position);
  return { x: (x - west) / perPixel, y: (north - y) / perPixel };
}

export function positionAt({ west, north, perPixel }: Corner, { x, y }: Pixel): Degrees {
  return toDegrees(west + x * perPixel, north - y * perPixel);
}

/** What a canvas shows at a zoom around a centre. */
export function placeOf({ zoom, latitude, longitude }: View, width: number, height: number): Place {
  const perPixel = perPixelAt(zoom);
  const { x, y } = toMercator({ longitude, latitude });
  return { west: x - (width / 2) * perPixel, north: y + (height / 2) * perPixel, perPixel, width, height };
}

/** What a canvas shows, as a view. */
export function viewOf({ west, north, perPixel, width, height }: Place): View {
  const middle = toDegrees(west + (width / 2) * perPixel, north - (height / 2) * perPixel);
  return { zoom: Math.log2(WORLD / (TILE * perPixel)), ...middle };
}

/** A corner of a canvas that is covered, by its size in pixels. */
export type Covered = { width: number; height: number };

/**
 * A canvas that shows all of `bounds` beside or above what covers its lower left corner, whichever
 * leaves more room, and no further from the middle than that takes; below a strip of `top` pixels.
 */
export function fitBeside(bounds: Bounds, width: number, height: number, covered: Covered, padding: number, top = 0): Place {
  if (top) {
    const below = fitBeside(bounds, width, height - top, covered, padding);
    return { ...below, north: below.north + top * below.perPixel, height };
  }
  const above = fit(bounds, width, height - covered.height, padding);
  const beside = fit(bounds, width - covered.width, height, padding);
  if (above.perPixel < beside.perPixel) return { ...above, width, height };
  const { x: low } = toMercator({ longitude: bounds[0], latitude: bounds[1] });
  const { x: high } = toMercator({ longitude: bounds[2], latitude: bounds[1] });
  const left = Math.max((width - (high - low) / beside.perPixel) / 2, covered.width + padding);
  return { ...beside, west: low - left * beside.perPixel, width, height };
}

/** A canvas that shows all of `bounds` in its middle, with `padding` pixels around the tighter side. */
export function fit(bounds: Bounds, width: number, height: number, padding = 14): Place {
  const [west, south, east, north] = bounds;
  const low = toMercator({ longitude: west, latitude: south });
  const high = toMercator({ longitude: east, latitude: north });
  const perPixel = Math.max(
    (high.x - low.x) / Math.max(1, width - 2 * padding),
    (high.y - low.y) / Math.max(1, height - 2 * padding),
  );
  return {
    west: (low.x + high.x - width * perPixel) / 2,
    north: (low.y + high.y + height * perPixel) / 2,
    perPixel,
    width,
    height,
  };
}

/** The view as a link can hold it: to a hundredth of a pixel. */
export function roundView({ zoom, latitude, longitude }: View): View {
  const rounded = Number(zoom.toFixed(3));
  const digits = Math.max(2, Math.ceil(Math.log10((TILE * 2 ** rounded) / 360)) + 2);
  return {
    zoom: rounded,
    latitude: Number(latitude.toFixed(digits)),
    longitude: Number(longitude.toFixed(digits)),
  };
}
