/** The view in the address: `#map=zoom/latitude/longitude&layer=estimate&show=margin`. */

export type View = { zoom: number; latitude: number; longitude: number };
export type Show = "estimate" | "margin";
export type Link = { view: View | null; layer: string | null; show: Show };

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
  if (view) parts.push(`map=${view.zoom.toFixed(3)}/${view.latitude.toFixed(6)}/${view.longitude.toFixed(6)}`);
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
