/** Dashed rings: images of the map library, whose circles have no dashes, and lines on a canvas. */
import type { Map as MapLibre } from "maplibre-gl";

const DASHES = [3, 2.5];
const WIDTH = 1.25;

/** Draws a ring around a position; `ratio` is the number of the canvas's pixels for one of the screen. */
export function drawRing(pen: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string, ratio = 1): void {
  pen.save();
  pen.setLineDash(DASHES.map((each) => each * ratio));
  pen.lineWidth = WIDTH * ratio;
  pen.strokeStyle = colour;
  pen.beginPath();
  pen.arc(x, y, radius * ratio, 0, 2 * Math.PI);
  pen.stroke();
  pen.restore();
}

/** The rings of a layer: one image for each radius, in half pixels. */
export class RingImages {
  private readonly made = new Set<number>();
  private colour = "";

  constructor(
    private readonly map: MapLibre,
    private readonly prefix: string,
  ) {}

  /** Has an image for each number of half pixels, in one colour. */
  paint(halves: Iterable<number>, colour: string): void {
    if (colour !== this.colour) this.remove();
    this.colour = colour;
    for (const half of halves) {
      if (this.made.has(half)) continue;
      this.made.add(half);
      this.map.addImage(this.prefix + half, ringImage(half / 2, colour), { pixelRatio: devicePixelRatio });
    }
  }

  remove(): void {
    for (const half of this.made) this.map.removeImage(this.prefix + half);
    this.made.clear();
  }
}

function ringImage(radius: number, colour: string): ImageData {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d")!;
  const side = Math.ceil(2 * (radius + WIDTH) * devicePixelRatio);
  canvas.width = canvas.height = side;
  drawRing(pen, side / 2, side / 2, radius, colour, devicePixelRatio);
  return pen.getImageData(0, 0, side, side);
}
