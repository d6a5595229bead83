/** Hatch for counts below the threshold: 45 degree lines in screen space. */
import { parseHex } from "../colour/ramps";

/** Distance between lines and their width, in CSS pixels. */
export const HATCH_PITCH = 8;
const HATCH_WIDTH = 1;

/** The hatch is weaker on water, so that land and sea stay apart under it. */
export const AT_SEA = 0.4;

/** Share of a pixel that the hatch covers; `x` and `y` in CSS pixels from the map's corner. */
export function hatchCover(x: number, y: number, pixelRatio: number): number {
  const along = (((x + y) % HATCH_PITCH) + HATCH_PITCH) % HATCH_PITCH;
  const distance = (Math.min(along, HATCH_PITCH - along) / Math.SQRT2) * pixelRatio;
  return Math.min(1, Math.max(0, (HATCH_WIDTH * pixelRatio) / 2 + 0.5 - distance));
}

/** The same rule for a fragment shader: `float hatchCover(vec2 position, float pixelRatio)`. */
export const HATCH_GLSL = `
float hatchCover(vec2 position, float pixelRatio) {
  float along = mod(position.x + position.y, ${HATCH_PITCH.toFixed(1)});
  float away = min(along, ${HATCH_PITCH.toFixed(1)} - along) * ${Math.SQRT1_2} * pixelRatio;
  return clamp(${HATCH_WIDTH.toFixed(1)} * pixelRatio / 2.0 + 0.5 - away, 0.0, 1.0);
}`;

/** One tile of the hatch, with which the map library fills shapes. */
export function hatchPattern(colour: string, pixelRatio: number): ImageData {
  const ratio = Math.max(1, Math.round(pixelRatio));
  const side = HATCH_PITCH * ratio;
  const tile = new ImageData(side, side);
  const rgb = parseHex(colour);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const cover = hatchCover((x + 0.5) / ratio, (y + 0.5) / ratio, ratio);
      tile.data.set([...rgb, Math.round(255 * cover)], 4 * (y * side + x));
    }
  }
  return tile;
}

/** Hatches a path on a 2D canvas. */
export function drawHatch(
  pen: CanvasRenderingContext2D,
  path: Path2D,
  { width, height }: { width: number; height: number },
  colour: string,
  pixelRatio: number,
): void {
  pen.save();
  pen.clip(path, "evenodd");
  pen.strokeStyle = colour;
  pen.lineWidth = HATCH_WIDTH;
  pen.beginPath();
  const shift = 0.5 / pixelRatio;
  for (let start = 0; start < width + height; start += HATCH_PITCH) {
    pen.moveTo(start + shift, 0);
    pen.lineTo(start - height + shift, height);
  }
  pen.stroke();
  pen.restore();
}
