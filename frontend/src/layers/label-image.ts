/** Figures on the map: images of text with a casing, so that they are legible on every colour. */
import type { Map as MapLibre } from "maplibre-gl";
import type { Palette } from "../colour/ramps";

const SIZE = 11;
const CASING = 3;

function labelFont(size = SIZE): string {
  return `600 ${size}px "Archivo Variable", "Helvetica Neue", Arial, sans-serif`;
}

/** Writes a text around a position, on its casing. */
export function drawLabel(pen: CanvasRenderingContext2D, text: string, x: number, y: number, palette: Palette, ratio = 1): void {
  pen.font = labelFont(SIZE * ratio);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = CASING * ratio;
  pen.strokeStyle = palette.sheet;
  pen.fillStyle = palette.ink;
  pen.strokeText(text, x, y);
  pen.fillText(text, x, y);
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
  pen.font = labelFont(SIZE * devicePixelRatio);
  canvas.width = Math.ceil(pen.measureText(text).width + 2 * CASING * devicePixelRatio);
  canvas.height = Math.ceil((SIZE * 1.3 + CASING) * devicePixelRatio);
  drawLabel(pen, text, canvas.width / 2, canvas.height / 2, palette, devicePixelRatio);
  return pen.getImageData(0, 0, canvas.width, canvas.height);
}
