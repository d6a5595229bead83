/** Regions and arcs of flows as outlines, and on a canvas. */
import type { Polygon } from "geojson";
import { drawHatch } from "../../canvas/hatch";
import { shapePath } from "../../canvas/paths";
import type { Palette } from "../../colour/ramps";
import { toDegrees, toMercator } from "../../geometry/mercator";
import type { Place } from "../../geometry/place";
import { arcOutline, arcWidth } from "./arcs";
import type { Choice } from "./choice";

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
  pen.restore();
}

function outline(pen: CanvasRenderingContext2D, paths: readonly Path2D[], colour: string, width: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  for (const path of paths) pen.stroke(path);
}
