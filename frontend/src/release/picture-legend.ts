/** The legend under a picture of a map, with the same signs as on the page (map.css). */
import { drawHatch } from "../canvas/hatch";
import type { Palette } from "../colour/ramps";
import type { LegendContent, LegendKey } from "../layers/map-layer";
import { edgeText } from "../ui/format";

export const MARGIN = 16;
export const LINE = 17;
/** Pixels of the file for each pixel of the screen. */
export const SHARPNESS = 2;
const SWATCH = { width: 40, height: 14 };
const GAP = 6;

export function font(weight: string, size: number): string {
  return `${weight} ${size}px "Archivo Variable", Arial, sans-serif`;
}

export function legendHeight({ classes, keys, note }: LegendContent): number {
  const ramp = classes.length ? SWATCH.height + LINE + GAP : 0;
  const rows = keys.reduce((sum, key) => sum + rowHeight(key) + GAP, ramp);
  return MARGIN + LINE + rows + (note ? LINE : 0);
}

/** Draws the legend and returns its lower edge. */
export function drawLegend(
  pen: CanvasRenderingContext2D,
  { title, classes, words, keys, note }: LegendContent,
  palette: Palette,
  top: number,
): number {
  let y = top + 10;
  const text = (what: string, x: number, at: number, bold = false): void => {
    pen.font = font(bold ? "600" : "400", 12);
    pen.fillStyle = bold ? palette.ink : palette.label;
    pen.fillText(what, x, at);
  };
  text(title, MARGIN, y, true);
  y += 8;
  const width = Math.max(1, classes.length) * SWATCH.width;
  classes.forEach(({ from, step }, index) => {
    const x = MARGIN + index * SWATCH.width;
    pen.fillStyle = palette.ramp[step]!;
    pen.fillRect(x, y, SWATCH.width - 1, SWATCH.height);
    if (from === null) return;
    pen.textAlign = index ? "center" : "left";
    text(edgeText(from, classes.length), x, y + SWATCH.height + 13);
    pen.textAlign = "left";
  });
  if (classes.length) {
    text(words, MARGIN + width + 8, y + 11);
    y += SWATCH.height + LINE + GAP;
  }
  for (const key of keys) {
    const height = rowHeight(key);
    drawSwatch(pen, key, palette, { x: MARGIN, y, width: width - 1, height });
    text(key.words, MARGIN + width + 8, y + height / 2 + 4);
    y += height + GAP;
  }
  if (note) text(note, MARGIN, (y += 10));
  return y;
}

function rowHeight({ size = 0 }: LegendKey): number {
  return Math.max(SWATCH.height, size);
}

type Box = { x: number; y: number; width: number; height: number };

function drawSwatch(pen: CanvasRenderingContext2D, { swatch, size }: LegendKey, palette: Palette, box: Box): void {
  const { x, y, width, height } = box;
  const path = new Path2D();
  pen.save();
  pen.fillStyle = palette.land;
  if (swatch === "arc") {
    path.moveTo(x, y + 0.2 * height);
    path.lineTo(x + width, y + 0.46 * height);
    path.lineTo(x + width, y + 0.54 * height);
    path.lineTo(x, y + 0.8 * height);
    pen.fillStyle = palette.ink;
    pen.fill(path);
  } else if (size || swatch === "hollow" || swatch === "dashed") {
    path.arc(x + width / 2, y + height / 2, (size ?? height) / 2, 0, 2 * Math.PI);
    if (size) pen.fillStyle = palette.ramp[4]!;
    pen.strokeStyle = swatch === "hollow" ? palette.hatch : palette.ink;
    pen.setLineDash(swatch === "dashed" ? [3, 2.5] : []);
    pen.fill(path);
    pen.stroke(path);
  } else {
    path.rect(x, y, width, height);
    pen.fill(path);
    if (swatch === "hatch") drawHatch(pen, path, { width: x + width + 1, height: y + height }, palette.hatch, SHARPNESS);
  }
  pen.restore();
}
