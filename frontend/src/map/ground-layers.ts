/** Named ground: streets, water, parks and names of Shortbread vector tiles, drawn quietly. */
import archivo500 from "@fontsource/archivo/files/archivo-latin-500-normal.woff2?url";
import archivo600 from "@fontsource/archivo/files/archivo-latin-600-normal.woff2?url";
import archivoExt500 from "@fontsource/archivo/files/archivo-latin-ext-500-normal.woff2?url";
import archivoExt600 from "@fontsource/archivo/files/archivo-latin-ext-600-normal.woff2?url";
import serif from "@fontsource/source-serif-4/files/source-serif-4-latin-400-italic.woff2?url";
import serifExt from "@fontsource/source-serif-4/files/source-serif-4-latin-ext-400-italic.woff2?url";
import type { ExpressionSpecification, LayerSpecification } from "maplibre-gl";
import type { Palette } from "../colour/ramps";

const LATIN = "U+0-FF,U+131,U+152-153,U+2BB-2BC,U+2C6,U+2DA,U+2DC,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215";
const LATIN_EXT =
  "U+100-130,U+132-151,U+154-2BA,U+2BD-2C5,U+2C7-2CC,U+2CE-2D7,U+2DD-2FF,U+304,U+308,U+329,U+1D00-1DBF,U+1E00-1E9F," +
  "U+1EF2-1EFF,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF";

/**
 * Fonts by the names that the layers use. The browser's own fonts draw the letters that these lack.
 * Static weights, because a style cannot ask a variable font for one.
 */
export const GROUND_FONTS = {
  "Ground Medium": faces(archivo500, archivoExt500),
  "Ground Semibold": faces(archivo600, archivoExt600),
  "Ground Italic": faces(serif, serifExt),
};

function faces(latin: string, extended: string) {
  return [
    { url: new URL(latin, location.href).href, "unicode-range": LATIN.split(",") },
    { url: new URL(extended, location.href).href, "unicode-range": LATIN_EXT.split(",") },
  ];
}

type Colours = Record<
  "wood" | "park" | "town" | "small" | "middle" | "wide" | "over" | "border" | "halo" | "street",
  string
>;

const LIGHT: Colours = {
  wood: "#f1f4ee",
  park: "#eef3ec",
  town: "#f4f3ef",
  small: "#d3d8d6",
  middle: "#b4bdbd",
  wide: "#98a4a6",
  over: "#6f7c81",
  border: "#5d6b74",
  halo: "#fbfbf8",
  street: "#44525e",
};

const DARK: Colours = {
  wood: "#17232a",
  park: "#18252a",
  town: "#1a242b",
  small: "#33424b",
  middle: "#435560",
  wide: "#5a6d78",
  over: "#93a5ad",
  border: "#8a98a1",
  halo: "#111a20",
  street: "#b0bcc3",
};

type Expression = ExpressionSpecification;

const RAIL: Expression = ["to-boolean", ["get", "rail"]];
const STREET: Expression = ["!", RAIL];
const MINOR = ["service", "track", "footway", "path", "cycleway", "steps", "bridleway"];
const LOCAL_KINDS = ["unclassified", "residential", "living_street", "pedestrian"];
const WIDE = isKind("motorway", "trunk", "primary");
const MIDDLE = isKind("secondary", "tertiary");
const LOCAL = isKind(...LOCAL_KINDS);
const SMALL = isKind(...LOCAL_KINDS, "busway", ...MINOR);
const TOWN = isKind("residential", "commercial", "industrial", "retail", "railway", "quarry", "farmyard");
const WOOD = isKind("forest", "nature_reserve");
const PARK = isKind(
  ...["park", "garden", "golf_course", "pitch", "playground", "cemetery"],
  ...["allotments", "grass", "village_green", "recreation_ground", "stadium"],
);
const RIVER = isKind("river", "canal");
const AREA: Expression = ["to-number", ["get", "way_area"], 0];

/** Layers of a vector source: "under" lie below a release's cells, "over" above them. */
export type GroundLayers = Record<"under" | "over", LayerSpecification[]>;

/** Width in pixels of the halo of names. Pale names need more of it on the palest zones. */
const [LIGHT_HALO, DARK_HALO] = [2, 3];

export function groundLayers(source: string, palette: Palette, dark: boolean, language: string): GroundLayers {
  const colours = dark ? DARK : LIGHT;
  const draw = painter(source, colours.halo, dark ? DARK_HALO : LIGHT_HALO, ["coalesce", ["get", `name_${language}`], ["get", "name"]]);
  return {
    under: [...landAndWater(draw, palette, colours), ...streets(draw, colours)],
    over: [...lines(draw, colours), ...names(draw, palette, colours)],
  };
}

type Painter = ReturnType<typeof painter>;

function painter(source: string, halo: string, haloWidth: number, name: Expression) {
  const layer = (type: string, id: string, from: string, filter: Expression | null, more: object): LayerSpecification =>
    ({
      id: `${source}-${id}`,
      type,
      source,
      "source-layer": from,
      ...(filter ? { filter } : {}),
      ...more,
    }) as LayerSpecification;
  return {
    fill: (id: string, from: string, filter: Expression | null, paint: object, layout: object = {}) =>
      layer("fill", id, from, filter, { layout, paint: { "fill-antialias": false, ...paint } }),
    line: (id: string, from: string, filter: Expression | null, minzoom: number, paint: object) =>
      layer("line", id, from, filter, { minzoom, layout: { "line-join": "round", "line-cap": "round" }, paint }),
    text: (id: string, from: string, filter: Expression | null, minzoom: number, layout: object, paint: object) =>
      layer("symbol", id, from, filter, {
        minzoom,
        layout: { "text-field": name, "text-max-width": 7, "text-padding": 3, ...layout },
        paint: { "text-halo-color": halo, "text-halo-width": haloWidth, "text-halo-blur": 0.3, ...paint },
      }),
  };
}

/** Parks and woods are nearly grey: a green park would read as data. */
function landAndWater({ fill, line }: Painter, palette: Palette, colours: Colours): LayerSpecification[] {
  const cover = ["case", TOWN, colours.town, WOOD, colours.wood, colours.park];
  const order = ["case", TOWN, 0, WOOD, 1, 2];
  const width = zoom(8, ["case", RIVER, 0.9, 0.4], 15, ["case", RIVER, 3, 1]);
  const lake = { "fill-color": palette.water, "fill-outline-color": palette.waterline, "fill-antialias": true };
  return [
    fill("land", "land", ["any", TOWN, WOOD, PARK], { "fill-color": cover }, { "fill-sort-key": order }),
    fill("sea", "ocean", null, { "fill-color": palette.water }),
    fill("water", "water_polygons", null, lake),
    line("flow", "water_lines", null, 0, { "line-color": palette.waterline, "line-width": width, "line-opacity": 0.8 }),
  ];
}

function streets({ line }: Painter, colours: Colours): LayerSpecification[] {
  const road = (id: string, kinds: Expression, minzoom: number, colour: string, width: Expression, more: object = {}) =>
    line(id, "streets", ["all", STREET, kinds], minzoom, { "line-color": colour, "line-width": width, ...more });
  const faint = ["case", isKind(...MINOR), 0.55, 1];
  return [
    road("small", SMALL, 12, colours.small, zoom(12, 0.5, 14, 1.1, 18, 7), { "line-opacity": faint }),
    road("middle", MIDDLE, 9, colours.middle, zoom(9, 0.5, 13, 1.5, 18, 11)),
    road("wide", WIDE, 6, colours.wide, zoom(6, 0.5, 13, 2, 18, 14)),
    line("rail", "streets", RAIL, 9, {
      "line-color": colours.wide,
      "line-width": zoom(9, 0.7, 16, 1.6),
      "line-dasharray": [5, 2],
    }),
  ];
}

/** Hairlines that show through the cells. */
function lines({ line }: Painter, colours: Colours): LayerSpecification[] {
  const strength = (local: number) => ["case", WIDE, 0.6, MIDDLE, 0.34, local];
  return [
    line("roads", "streets", ["all", STREET, ["any", WIDE, MIDDLE, LOCAL]], 9, {
      "line-color": colours.over,
      "line-width": zoom(9, 0.4, 14, ["case", WIDE, 0.9, MIDDLE, 0.8, 0.5], 18, ["case", LOCAL, 0.8, 1.2]),
      "line-opacity": ["step", ["zoom"], strength(0), 13, strength(0.28)],
    }),
    line("border", "boundaries", ["<=", ["get", "admin_level"], 8], 0, {
      "line-color": colours.border,
      "line-width": ["match", ["get", "admin_level"], 2, 1, 0.6],
      "line-opacity": ["match", ["get", "admin_level"], [2, 4], 0.7, 0.38],
      "line-dasharray": [4, 2.5],
    }),
  ];
}

function names({ text }: Painter, palette: Palette, colours: Colours): LayerSpecification[] {
  const water = { "text-color": palette.waterLabel };
  const italic = { "text-font": ["Ground Italic"], "text-size": 12.5 };
  const large: Expression = ["step", ["zoom"], 1e6, 13, 2.5e5, 14, 6e4, 15, 1.5e4, 16, 0];
  const lake: Expression = ["all", ["!=", ["get", "kind"], "river"], [">", AREA, large]];
  const place = (id: string, kinds: string[], minzoom: number, font: string, size: Expression, colour: string, more = {}) =>
    text(
      id,
      "place_labels",
      isKind(...kinds),
      minzoom,
      {
        "text-font": [font],
        "text-size": size,
        "symbol-sort-key": ["-", 0, ["to-number", ["get", "population"], 0]],
        ...more,
      },
      { "text-color": colour },
    );
  const town = (large: number, small: number) => ["match", ["get", "kind"], "town", large, small];
  return [
    text(
      "flow-name",
      "water_lines_labels",
      null,
      12,
      { ...italic, "symbol-placement": "line", "text-letter-spacing": 0.06, "symbol-spacing": 380 },
      water,
    ),
    text("lake-name", "water_polygons_labels", lake, 12, { ...italic, "text-letter-spacing": 0.04 }, water),
    text(
      "street-name",
      "street_labels",
      null,
      13.5,
      {
        "symbol-placement": "line",
        "symbol-spacing": 320,
        "text-font": ["Ground Medium"],
        "text-size": zoom(13.5, 10.5, 17, 13),
        "text-letter-spacing": 0.01,
        "text-max-angle": 30,
      },
      { "text-color": colours.street, "text-halo-width": 1.8 },
    ),
    text(
      "station",
      "public_transport",
      isKind("station", "halt"),
      12.5,
      { "text-font": ["Ground Medium"], "text-size": 10.5, "text-anchor": "top", "text-offset": [0, 0.35] },
      { "text-color": colours.street },
    ),
    place(
      "small-place",
      ["hamlet", "suburb", "quarter", "neighbourhood", "locality"],
      12,
      "Ground Medium",
      zoom(12, 10.5, 16, 13),
      palette.label,
      { "text-letter-spacing": 0.02 },
    ),
    place("place", ["village", "town"], 8, "Ground Semibold", zoom(9, town(12.5, 11.5), 14, town(17, 15)), palette.ink),
    place("city", ["city", "state_capital", "capital"], 3, "Ground Semibold", zoom(5, 11.5, 13, 19), palette.ink, {
      "text-transform": "uppercase",
      "text-letter-spacing": 0.16,
    }),
  ];
}

const COUNTRY: Expression = ["==", ["get", "kind"], "country"];

/** Which places have names: where streets are shown, the ground names its own. */
export function placesNamed(streets: boolean): Expression {
  return streets ? ["all", ["!", COUNTRY], ["!", ["get", "own"]]] : ["!", COUNTRY];
}

/** Names of countries and the largest places, for maps or parts of maps that no vector tiles reach. */
export function nameLayers(source: string, palette: Palette, dark: boolean): LayerSpecification[] {
  const colours = dark ? DARK : LIGHT;
  const layer = (id: string, filter: Expression, layout: object, colour: string) =>
    ({
      id: `${source}-${id}`,
      type: "symbol",
      source,
      filter,
      layout: { "text-field": ["get", "name"], "text-padding": 5, "symbol-sort-key": ["get", "rank"], ...layout },
      paint: {
        "text-color": colour,
        "text-halo-color": colours.halo,
        "text-halo-width": dark ? DARK_HALO : LIGHT_HALO,
        "text-halo-blur": 0.3,
      },
    }) as LayerSpecification;
  const size: Expression = ["step", ["get", "rank"], 16.5, 1, 14.5, 5, ["match", ["get", "kind"], "city", 13, 12]];
  const country = { "text-font": ["Ground Medium"], "text-size": 12, "text-transform": "uppercase", "text-letter-spacing": 0.18 };
  return [
    layer("countries", ["all", COUNTRY, ["!", ["get", "own"]]], country, palette.label),
    layer("places", placesNamed(true), { "text-font": ["Ground Semibold"], "text-size": size }, palette.ink),
  ];
}

/** Interpolates between pairs of a zoom and a value. */
function zoom(...stops: unknown[]): Expression {
  return ["interpolate", ["exponential", 1.4], ["zoom"], ...stops] as Expression;
}

function isKind(...kinds: string[]): Expression {
  return ["in", ["get", "kind"], ["literal", kinds]];
}
