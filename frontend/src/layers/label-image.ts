/** Figures on the map: images of text with a casing, so that they are legible on every colour. */
import type { Map as MapLibre } from "maplibre-gl";
import type { Palette } from "../colour/ramps";

const SIZE = 11;
const CASING = 3;

function labelFont(size = SIZE): string {
  return `600 ${size}px "Archivo Variable", "Helvetica Neue", Arial, sans-serif`;
}

/** Height of a line, as a multiple of the size of its letters. */
const LEADING = 1.3;

/** A text around a position in pixels. */
export type Label = { text: string; x: number; y: number };

/** Writes labels in the order in which they are given, without those that would touch another. */
export function drawLabels(pen: CanvasRenderingContext2D, labels: readonly Label[], palette: Palette): void {
  const written: { left: number; right: number; top: number; bottom: number }[] = [];
  for (const { text, x, y } of labels) {
    const { width, height } = sizeOf(pen, text, 1);
    const box = { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
    const apart = written.every(
      ({ left, right, top, bottom }) => box.right < left || right < box.left || box.bottom < top || bottom < box.top,
    );
    if (!apart) continue;
    written.push(box);
    drawLabel(pen, text, x, y, palette);
  }
}

/** Writes a text of one or more lines around a position, on its casing. */
export function drawLabel(pen: CanvasRenderingContext2D, text: string, x: number, y: number, palette: Palette, ratio = 1): void {
  pen.font = labelFont(SIZE * ratio);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = CASING * ratio;
  pen.strokeStyle = palette.sheet;
  pen.fillStyle = palette.ink;
  const lines = text.split("\n");
  const row = (index: number): number => y + (index - (lines.length - 1) / 2) * SIZE * LEADING * ratio;
  lines.forEach((line, index) => pen.strokeText(line, x, row(index)));
  lines.forEach((line, index) => pen.fillText(line, x, row(index)));
}

/** The size of a text with its casing, in device pixels. */
function sizeOf(pen: CanvasRenderingContext2D, text: string, ratio: number): { width: number; height: number } {
  pen.font = labelFont(SIZE * ratio);
  const lines = text.split("\n");
  return {
    width: Math.ceil(Math.max(...lines.map((line) => pen.measureText(line).width)) + 2 * CASING * ratio),
    height: Math.ceil((SIZE * LEADING * lines.length + CASING) * ratio),
  };
}

/** Gives a map the image of a text, in place of an older one of the same name. */
export function setLabelImage(map: MapLibre, name: string, text: string, palette: Palette): void {
  if (map.hasImage(name)) map.removeImage(name);
  map.addImage(name, labelImage(text, palette), { pixelRatio: devicePixelRatio });
}

/** A text as an image of device pixels. */
function labelImage(text: string, palette: Palette): ImageData {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d")!;
  Object.assign(canvas, sizeOf(pen, text, devicePixelRatio));
  drawLabel(pen, text, canvas.width / 2, canvas.height / 2, palette, devicePixelRatio);
  return pen.getImageData(0, 0, canvas.width, canvas.height);
}
