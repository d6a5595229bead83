/** Layer of counted places: circles with areas proportional to counts, with the places' names. */
import type { ExpressionSpecification, Map as MapLibre } from "maplibre-gl";
import { classOf, STEPS } from "../../colour/classes";
import type { Palette } from "../../colour/ramps";
import { type PointLayer, type ReleaseArray, sliceTitle } from "../../data/release-array";
import type { Scene } from "../../data/scene";
import { type Degrees, distanceNearby } from "../../geometry/mercator";
import { pixelOf, type Place } from "../../geometry/place";
import { type Arrow, walk } from "../../geometry/shapes";
import { capitalise, formatMargin, formatNumber } from "../../ui/format";
import { t } from "../../ui/translate";
import { drawLabel, setLabelImage } from "../label-image";
import { collection, feature, setFeatures, stepColours } from "../map-features";
import { type LegendContent, type LegendKey, type LoadLayer, type MapLayer, PLAIN_STYLE, type Show, type Spot, type Style, type Wording } from "../map-layer";
import { doubtNote, countedRange } from "../uncertainty";
import { busiestOf, type Counted, exampleCounts, isPerhaps, largestOf, placesOf, radiusOf, standsOut } from "./circles";
import { drawRing, RingImages } from "./rings";

const POINTS = "places";
const RINGS = "places-rings";
const LABELS = "places-labels";

/** On a map narrower than this many pixels circles are smaller, so that they cover less of it. */
const NARROW = 600;
const ON_NARROW = 0.6;

/** Step of the ramp that all circles of counts have: their size says how many, not their colour. */
const STEP = Math.floor(STEPS * 0.6);

/** Most places that are named on the map; the busiest have precedence. */
const MOST_NAMED = 60;

/** Pixels from the edge of a circle to the middle of its name, below it. */
const BELOW = 9;

/** Opacity of circles: of places that are or are not among the busiest, of those that may be, and of empty ones. */
const FILLED = 0.8;
const PERHAPS = 0.4;

/** Radius of a place that cannot be told from zero. */
const EMPTY = 3;

export const load: LoadLayer = async (layer, release, scene) => {
  if (layer.shape !== "points") throw new Error(`The layer ${layer.name} has no points.`);
  return new Places(layer, release, scene);
};

/** How places look whose values are not counts of the release as they were drawn. */
export type Look = {
  /** The value with the largest circle. */
  largest: number;
  standsOut: (value: number) => boolean;
  /** Lower edges of the classes that circles are coloured by; null where all have one colour. */
  edges: readonly number[] | null;
  wording: Wording | null;
};

export class Places implements MapLayer {
  readonly name: string;
  readonly shows: readonly Show[] = ["estimate"];
  readonly scales = false;
  private readonly places: Counted[];
  private readonly largest: number;
  /** How many busiest places the page is about. */
  private readonly busiest: number;
  private style: Style = PLAIN_STYLE;
  private palette: Palette | null = null;
  private map: MapLibre | null = null;
  private rings: RingImages | null = null;

  constructor(
    private readonly layer: PointLayer,
    release: ReleaseArray,
    private readonly scene: Scene,
    private readonly look: Look | null = null,
  ) {
    this.name = layer.name;
    this.places = placesOf(layer);
    this.largest = look?.largest ?? largestOf(layer, release);
    this.busiest = busiestOf(layer.of);
  }

  restyle(style: Style, palette: Palette): void {
    this.style = style;
    this.palette = palette;
    if (this.map) this.repaint(this.map);
  }

  legend(): LegendContent {
    const counting = t(this.scene.nouns.one);
    const margins = this.places.map(({ margin }) => margin);
    const sizes = exampleCounts(this.largest).map((count) => ({
      swatch: "circle",
      words: formatNumber(count),
      size: 2 * radiusOf(count, this.largest) * scaleFor(innerWidth),
    }));
    const perhaps = this.places.some((place) => isPerhaps(place, this.busiest)) ? [perhapsKey(this.busiest)] : [];
    if (this.look?.wording) return legendOf(this.look.wording, this.look.edges ? [] : sizes);
    return {
      title: capitalise(t("{noun} at each place", { noun: counting })) + (this.layer.slice ? `: ${sliceTitle(this.layer)}` : ""),
      classes: [],
      words: "",
      keys: [...sizes, ...perhaps, TOO_FEW()],
      note: margins.length ? t("Every count is give or take {range} {counting}.", countedRange(margins, counting)) : "",
    };
  }

  mount(map: MapLibre, before: string): void {
    this.map = map;
    map.addSource(POINTS, { type: "geojson", data: collection([]) });
    map.addLayer(
      {
        id: POINTS, type: "circle", source: POINTS,
        // Small circles lie over large ones, so that each can be pointed at.
        layout: { "circle-sort-key": ["-", 0, ["get", "radius"]] },
        paint: { "circle-radius": ["get", "radius"], "circle-stroke-width": 1 },
      },
      before,
    );
    this.rings = new RingImages(map, `${RINGS}-`);
    map.addLayer(
      {
        id: RINGS, type: "symbol", source: POINTS, filter: [">", ["get", "ring"], 0],
        layout: {
          "icon-image": ["concat", `${RINGS}-`, ["to-string", ["get", "ring"]]],
          "icon-allow-overlap": true,
          "icon-ignore-placement": true,
        },
      },
      before,
    );
    map.addLayer(
      {
        id: LABELS, type: "symbol", source: POINTS, filter: [">=", ["get", "label"], 0],
        layout: {
          "icon-image": ["concat", LABELS, ["to-string", ["get", "label"]]],
          "icon-offset": ["get", "below"],
          "symbol-sort-key": ["-", 0, ["get", "radius"]],
        },
      },
      before,
    );
    this.repaint(map);
  }

  unmount(map: MapLibre): void {
    this.map = null;
    for (const id of [LABELS, RINGS]) map.removeLayer(id);
    this.rings?.remove();
    this.rings = null;
    for (const { index } of this.named()) if (map.hasImage(LABELS + index)) map.removeImage(LABELS + index);
    map.removeLayer(POINTS);
    map.removeSource(POINTS);
  }

  draw(pen: CanvasRenderingContext2D, place: Place): void {
    const palette = this.palette!;
    const scale = Math.min(1, place.width / 480);
    pen.save();
    pen.lineWidth = 1;
    for (const each of [...this.places].sort((a, b) => Math.abs(b.value) - Math.abs(a.value))) {
      const { x, y } = pixelOf(place, each.middle);
      const told = this.standsOut(each);
      const perhaps = isPerhaps(each, this.busiest);
      const filled = told && !perhaps;
      pen.globalAlpha = this.style.opacity * opacityOf(told, perhaps);
      pen.beginPath();
      pen.arc(x, y, this.radius(each) * scale, 0, 2 * Math.PI);
      pen.fillStyle = filled ? palette.ramp[this.stepOf(each)]! : palette.land;
      pen.strokeStyle = filled ? palette.ink : palette.hatch;
      pen.fill();
      pen.globalAlpha = this.style.opacity;
      if (perhaps) drawRing(pen, x, y, this.radius(each) * scale, palette.ink);
      else pen.stroke();
    }
    pen.globalAlpha = 1;
    for (const each of scale < 1 ? [] : this.named().slice(0, 12)) {
      const { x, y } = pixelOf(place, each.middle);
      drawLabel(pen, each.name, x, y + this.radius(each) + BELOW, palette);
    }
    pen.restore();
  }

  at(position: Degrees, metres: number): Spot | null {
    let nearest: Counted | undefined;
    for (const place of this.places) {
      const pixels = distanceNearby(position, place.middle) / metres;
      const within = pixels <= Math.max(this.radius(place) * scaleFor(innerWidth), 8);
      if (within && (!nearest || this.radius(place) < this.radius(nearest))) nearest = place;
    }
    return nearest ? this.spot(nearest) : null;
  }

  step(from: Spot | null, arrow: Arrow, times: number, near: Degrees): Spot | null {
    const start = from && this.places.find(({ index }) => String(index) === from.key);
    const place = walk(this.places, start, arrow, times, near);
    return place ? this.spot(place) : null;
  }

  private radius(place: Counted): number {
    return this.standsOut(place) ? radiusOf(Math.abs(place.value), this.largest) : EMPTY;
  }

  private standsOut(place: Counted): boolean {
    return this.look ? this.look.standsOut(place.value) : standsOut(place);
  }

  /** The step of the ramp of a place that stands out. */
  private stepOf({ value }: Counted): number {
    return this.look?.edges ? classOf(value, this.look.edges) : STEP;
  }

  /** The busiest places that stand out, busiest first. */
  private named(): Counted[] {
    return this.places.filter((place) => this.standsOut(place)).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, MOST_NAMED);
  }

  private spot(place: Counted): Spot {
    const { index, name, middle, value } = place;
    const told = this.standsOut(place);
    const words = this.look?.wording?.words(value, told, "", index) ?? wordsOf(place, told, this.scene);
    return { key: String(index), name, ...words, middle, outline: null };
  }

  private repaint(map: MapLibre): void {
    const palette = this.palette!;
    if (!map.getSource(POINTS)) return;
    const scale = scaleFor(map.getContainer().clientWidth);
    const named = new Set(this.named().map(({ index }) => index));
    for (const { index, name } of this.places) if (named.has(index)) setLabelImage(map, LABELS + index, name, palette);
    const rings = new Set<number>();
    setFeatures(
      map,
      POINTS,
      this.places.map((place) => {
        const { longitude, latitude } = place.middle;
        const radius = this.radius(place) * scale;
        const label = named.has(place.index) ? place.index : -1;
        const ring = isPerhaps(place, this.busiest) ? Math.round(2 * radius) : 0;
        const told = this.standsOut(place);
        const filled = told && !ring ? 1 : 0;
        const step = filled ? this.stepOf(place) : -1;
        const opacity = opacityOf(told, ring > 0) * this.style.opacity;
        const properties = { radius, filled, step, ring, opacity, label, below: [0, radius + BELOW] };
        if (ring) rings.add(ring);
        return feature({ type: "Point", coordinates: [longitude, latitude] }, properties, place.index);
      }),
    );
    this.rings?.paint(rings, palette.ink);
    const either = (filled: string, empty: string): ExpressionSpecification => ["case", ["==", ["get", "filled"], 1], filled, empty];
    map.setPaintProperty(POINTS, "circle-color", stepColours(palette));
    map.setPaintProperty(POINTS, "circle-stroke-color", either(palette.ink, palette.hatch));
    map.setPaintProperty(POINTS, "circle-opacity", ["get", "opacity"]);
    map.setPaintProperty(POINTS, "circle-stroke-opacity", ["case", [">", ["get", "ring"], 0], 0, this.style.opacity]);
    map.setPaintProperty(RINGS, "icon-opacity", this.style.opacity);
  }
}

function perhapsKey(busiest: number): LegendKey {
  return { swatch: "dashed", words: t("Perhaps among the {count} busiest, perhaps not", { count: formatNumber(busiest) }) };
}

/** The key of places without a count that stands out. */
const TOO_FEW = (): LegendKey => ({ swatch: "hollow", words: t("Too few to tell from none") });

function legendOf(wording: Wording, sizes: LegendKey[]): LegendContent {
  const said = wording.legend("");
  const keys = said.keys?.map((key) => ({ ...key, swatch: "hollow" })) ?? [TOO_FEW()];
  return { classes: [], words: "", ...said, keys: [...sizes, ...keys] };
}

function wordsOf({ value, margin, best, worst }: Counted, told: boolean, { nouns }: Scene): Pick<Spot, "figure" | "margin" | "note"> {
  const rank = best === worst ? t("rank {best}", { best }) : t("rank {best} to {worst}", { best, worst });
  return {
    figure: formatNumber(value),
    margin: `${formatMargin(margin)} ${t(nouns.one)}`,
    note: doubtNote(value, told) || (best ? rank : ""),
  };
}

function opacityOf(told: boolean, perhaps: boolean): number {
  if (perhaps) return PERHAPS;
  return told ? FILLED : 1;
}

function scaleFor(width: number): number {
  return width < NARROW ? ON_NARROW : 1;
}
