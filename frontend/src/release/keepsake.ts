/** Picture file of the map, with legend, licence and privacy parameters drawn into it. */
import { drawHatch } from "../canvas/hatch";
import { drawPicture } from "../canvas/static-map";
import type { Palette } from "../colour/ramps";
import type { Scene } from "../data/scene";
import type { Place } from "../geometry/place";
import type { LegendContent, MapLayer } from "../layers/map-layer";
import { formatShort } from "../ui/format";

/** What stands under the picture besides the legend. */
export type Imprint = {
  title: string;
  /** Lines below the title: publisher and date, privacy guarantee, licence and address. */
  lines: string[];
};

const MARGIN = 16;
const LINE = 17;
const SWATCH = { width: 40, height: 14 };
/** Pixels of the file for each pixel of the screen. */
const SHARPNESS = 2;

export function drawKeepsake(
  scene: Scene,
  layer: MapLayer,
  palette: Palette,
  place: Place,
  imprint: Imprint,
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d")!;
  const legend = layer.legend();
  const lines = (): string[] => imprint.lines.flatMap((line) => wrap(pen, line, place.width - 2 * MARGIN));
  pen.font = font("400", 12);
  const foot = legendHeight(legend) + 40 + LINE * lines().length + MARGIN;
  canvas.width = Math.round(place.width * SHARPNESS);
  canvas.height = Math.round((place.height + foot) * SHARPNESS);
  pen.scale(SHARPNESS, SHARPNESS);
  pen.fillStyle = palette.sheet;
  pen.fillRect(0, 0, place.width, place.height + foot);
  drawPicture(pen, scene, layer, palette, place, SHARPNESS);
  let y = drawLegend(pen, legend, palette, place.height + MARGIN);
  pen.fillStyle = palette.ink;
  pen.font = `400 20px "Source Serif 4 Variable", Georgia, serif`;
  pen.fillText(imprint.title, MARGIN, (y += 30), place.width - 2 * MARGIN);
  pen.font = font("400", 12);
  pen.fillStyle = palette.label;
  for (const line of lines()) pen.fillText(line, MARGIN, (y += LINE));
  return canvas;
}

function legendHeight({ classes, keys, note }: LegendContent): number {
  const rows = (classes.length ? SWATCH.height + LINE + 6 : 0) + keys.length * (SWATCH.height + 6);
  return MARGIN + LINE + rows + (note ? LINE : 0);
}

/** Draws the legend and returns its lower edge. */
function drawLegend(
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
    text(formatShort(from), x, y + SWATCH.height + 13);
    pen.textAlign = "left";
  });
  if (classes.length) {
    text(words, MARGIN + width + 8, y + 11);
    y += SWATCH.height + LINE + 6;
  }
  for (const key of keys) {
    drawSwatch(pen, key.swatch, palette, y, width);
    text(key.words, MARGIN + width + 8, y + 11);
    y += SWATCH.height + 6;
  }
  if (note) text(note, MARGIN, (y += 10));
  return y;
}

function drawSwatch(
  pen: CanvasRenderingContext2D,
  swatch: string,
  palette: Palette,
  y: number,
  width: number,
): void {
  const path = new Path2D();
  path.rect(MARGIN, y, width - 1, SWATCH.height);
  pen.fillStyle = palette.land;
  pen.fill(path);
  if (swatch === "hatch") {
    drawHatch(pen, path, { width: MARGIN + width, height: y + SWATCH.height }, palette.hatch, SHARPNESS);
  }
}

function font(weight: string, size: number): string {
  return `${weight} ${size}px "Archivo Variable", Arial, sans-serif`;
}

function wrap(pen: CanvasRenderingContext2D, text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && pen.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
