/** Regions, arcs and labels of flows as outlines and texts, and on a canvas. */
import type { Polygon } from "geojson";
import { drawHatch } from "../../canvas/hatch";
import { shapePath } from "../../canvas/paths";
import type { Palette } from "../../colour/ramps";
import { toDegrees, toMercator } from "../../geometry/mercator";
import { pixelOf, type Place } from "../../geometry/place";
import { formatNumber } from "../../ui/format";
import { drawLabels } from "../label-image";
import { arcOutline, arcWidth, northward } from "./arcs";
import type { Choice, Region } from "./choice";

/** Values that take the place of a ramp step: for regions without a class, and for the chosen region. */
export const HATCHED = -1;
export const CHOSEN = -2;

export type Drawn = { flows: Choice; steps: readonly number[]; palette: Palette; opacity: number };

/** The outlines of the arcs, the broadest first, so that no thin one is hidden. */
export function outlinesOf({ arcs }: Choice, perPixel: number): Polygon[] {
  const largest = arcs[0]?.value ?? 1;
  return arcs.map(({ from, to, value }) => {
    const outline = arcOutline(toMercator(from.middle), toMercator(to.middle), arcWidth(value, largest) * perPixel);
    const ring = [...outline, outline[0]!].map(({ x, y }) => {
      const { longitude, latitude } = toDegrees(x, y);
      return [longitude, latitude];
    });
    return { type: "Polygon", coordinates: [ring] };
  });
}

/** Pixels from a region's middle to the middle of its label of one or of two lines. */
const BESIDE = { one: 13, two: 22 };

/** On a canvas narrower than this many pixels nothing is labelled. */
const LABELLED = 480;

/** A region's name, mostly with its count; `below` is its distance in pixels under the region's middle. */
export type RegionLabel = { region: Region; text: string; below: number };

/**
 * The chosen region's name, and the names and counts of the regions to which its arcs lead, largest
 * first, on the side of their middles on which no arc is. Without a chosen region, those with arrivals
 * that stand out.
 */
export function labelsOf(flows: Choice): RegionLabel[] {
  const { region, regions, arcs, direction } = flows;
  if (!region) {
    const told = regions.filter(({ arrivals }) => arrivals.value >= arrivals.threshold);
    return told
      .sort((one, other) => other.arrivals.value - one.arrivals.value)
      .map((each) => ({ region: each, text: `${each.name}\n${formatNumber(each.arrivals.value)}`, below: BESIDE.two }));
  }
  const others = arcs.map((flow): RegionLabel => {
    const partner = flows.partner(flow);
    const north = northward(toMercator(flow.from.middle), toMercator(flow.to.middle));
    const beneath = direction === "arrivals" ? north.begins : !north.ends;
    return {
      region: partner,
      text: `${partner.name}\n${formatNumber(flow.value)}`,
      below: beneath ? BESIDE.two : -BESIDE.two,
    };
  });
  return [{ region, text: region.name, below: BESIDE.one }, ...others.filter((each) => each.region !== region)];
}

export function drawFlows(pen: CanvasRenderingContext2D, place: Place, pixelRatio: number, drawn: Drawn): void {
  const { flows, steps, palette, opacity } = drawn;
  const hatched = new Path2D();
  pen.save();
  pen.globalAlpha = opacity;
  for (const { geometry, id } of flows.regions) {
    const path = shapePath(geometry, place);
    const step = steps[id]!;
    if (step === HATCHED) {
      hatched.addPath(path);
      continue;
    }
    pen.fillStyle = step === CHOSEN ? palette.land : palette.ramp[step]!;
    pen.fill(path, "evenodd");
  }
  drawHatch(pen, hatched, place, palette.hatch, pixelRatio);
  outline(pen, flows.regions.map(({ geometry }) => shapePath(geometry, place)), palette.land, 0.8);
  pen.globalAlpha = 1;
  if (flows.region) outline(pen, [shapePath(flows.region.geometry, place)], palette.accent, 2);
  const arcs = outlinesOf(flows, place.perPixel).map((arc) => shapePath(arc, place));
  pen.fillStyle = palette.ink;
  for (const arc of arcs) {
    outline(pen, [arc], palette.land, 0.8);
    pen.fill(arc);
  }
  if (place.width >= LABELLED) {
    const labels = labelsOf(flows).map(({ region, text, below }) => {
      const { x, y } = pixelOf(place, region.middle);
      return { text, x, y: y + below };
    });
    drawLabels(pen, labels, palette);
  }
  pen.restore();
}

function outline(pen: CanvasRenderingContext2D, paths: readonly Path2D[], colour: string, width: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  for (const path of paths) pen.stroke(path);
}
