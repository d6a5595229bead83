/** The view in the address: `#map=zoom/latitude/longitude&layer=estimate&show=margin`. */

export type View = { zoom: number; latitude: number; longitude: number };
export type Show = "estimate" | "margin";
export type Link = { view: View | null; layer: string | null; show: Show };

/** The view as a link can hold it: to a hundredth of a pixel. */
export function roundView({ zoom, latitude, longitude }: View): View {
  const kept = Number(zoom.toFixed(3));
  const digits = Math.max(2, Math.ceil(Math.log10((512 * 2 ** kept) / 360)) + 2);
  return {
    zoom: kept,
    latitude: Number(latitude.toFixed(digits)),
    longitude: Number(longitude.toFixed(digits)),
  };
}

/** Reads a hash; what makes no sense in it is left out. */
export function parseLink(hash: string): Link {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    view: parseView(parts.get("map") ?? ""),
    layer: parts.get("layer"),
    show: parts.get("show") === "margin" ? "margin" : "estimate",
  };
}

export function formatLink({ view, layer, show }: Link): string {
  const parts: string[] = [];
  if (view) parts.push(`map=${view.zoom}/${view.latitude}/${view.longitude}`);
  if (layer) parts.push(`layer=${encodeURIComponent(layer)}`);
  if (show !== "estimate") parts.push(`show=${show}`);
  return parts.length ? `#${parts.join("&")}` : "";
}

function parseView(text: string): View | null {
  const match = /^(-?\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)$/.exec(text);
  if (!match) return null;
  const [zoom, latitude, longitude] = match.slice(1).map(Number) as [number, number, number];
  const sane = zoom >= 0 && zoom <= 24 && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
  return sane ? { zoom, latitude, longitude } : null;
}
