/**
 * Picture file of the map as it is seen, with the reader's area and the map beside it, and with
 * legend, licence and privacy parameters drawn into it.
 */
import { drawFrame, frameEdges } from "../canvas/neatline";
import { shapePath } from "../canvas/paths";
import { drawPicture } from "../canvas/static-map";
import type { Palette } from "../colour/ramps";
import type { Scene } from "../data/scene";
import type { AreaShape } from "../geometry/area-shape";
import { pixelOf, type Place } from "../geometry/place";
import { centreOf } from "../geometry/shapes";
import type { MapLayer } from "../layers/map-layer";
import type { PlacedNote } from "../map/notes";
import { drawLegend, font, legendHeight, LINE, MARGIN, SHARPNESS } from "./picture-legend";

/** What stands under the picture besides the legend. */
export type Imprint = {
  title: string;
  /** Lines below the title: publisher and date, privacy guarantee, licence and address. */
  lines: string[];
};

/** The imprint of a map's frame; `named` says whether streets and names are in the picture. */
export function imprintOf(frame: HTMLElement, scene: Scene, named: boolean): Imprint {
  const { title = "", imprint = "[]" } = frame.dataset;
  const lines = JSON.parse(imprint) as string[];
  // Whoever sees the streets and names sees whom they are from.
  const ground = named ? scene.basemap.ground.map(({ attribution }) => attribution) : [];
  const credits = [...new Set([...ground, ...(scene.basemap.names_from ?? [])])];
  const further = credits.filter((credit) => !lines.some((line) => line.includes(credit)));
  return { title, lines: further.length ? [...lines, further.join(", ")] : lines };
}

/** An area that a reader counts in: its shape and what stands on it, "" where nothing does. */
export type SeenArea = { shape: AreaShape; words: string };

/** The map that is compared: it covers what is right of the divider, in per cent of the width. */
export type SeenBeside = {
  scene: Scene;
  layer: MapLayer;
  drawn: HTMLCanvasElement | null;
  percent: number;
  left: string;
  right: string;
};

/** What a reader sees of a page besides its layer; `drawn` is the map itself, with its streets. */
export type Seen = {
  drawn?: HTMLCanvasElement | null;
  areas?: readonly SeenArea[];
  beside?: SeenBeside | null;
  notes?: SeenNotes;
};

/** The publisher's notes on what is shown, with the heading of their list. */
export type SeenNotes = { title: string; notes: PlacedNote[] };

export function drawKeepsake(
  scene: Scene,
  layer: MapLayer,
  palette: Palette,
  place: Place,
  imprint: Imprint,
  seen: Seen = {},
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d")!;
  const legend = layer.legend();
  const { title, notes } = seen.notes ?? { title: "", notes: [] };
  const said = notes.map(({ number, text }) => `${number}. ${text}`);
  const imprinted = [...(said.length ? [`${title}:`, ...said, ""] : []), ...imprint.lines];
  const lines = (): string[] => imprinted.flatMap((line) => wrap(pen, line, place.width - 2 * MARGIN));
  pen.font = font("400", 12);
  const foot = legendHeight(legend) + 40 + LINE * lines().length + MARGIN;
  canvas.width = Math.round(place.width * SHARPNESS);
  canvas.height = Math.round((place.height + foot) * SHARPNESS);
  pen.scale(SHARPNESS, SHARPNESS);
  pen.fillStyle = palette.sheet;
  pen.fillRect(0, 0, place.width, place.height + foot);
  drawMap(pen, scene, layer, seen.drawn ?? null, palette, place);
  if (seen.beside) drawBeside(pen, seen.beside, palette, place);
  for (const area of seen.areas ?? []) drawArea(pen, area, palette, place);
  for (const note of notes) drawPin(pen, note, palette);
  let y = drawLegend(pen, legend, palette, place.height + MARGIN);
  pen.fillStyle = palette.ink;
  pen.font = `400 20px "Source Serif 4", Georgia, serif`;
  pen.fillText(imprint.title, MARGIN, (y += 30), place.width - 2 * MARGIN);
  pen.font = font("400", 12);
  pen.fillStyle = palette.label;
  for (const line of lines()) pen.fillText(line, MARGIN, (y += LINE));
  return canvas;
}

function drawMap(
  pen: CanvasRenderingContext2D,
  scene: Scene,
  layer: MapLayer,
  drawn: HTMLCanvasElement | null,
  palette: Palette,
  place: Place,
): void {
  if (!drawn) return drawPicture(pen, scene, layer, palette, place, SHARPNESS);
  pen.drawImage(drawn, 0, 0, place.width, place.height);
  drawFrame(pen, place.width, place.height, frameEdges(place), palette);
}

function drawBeside(pen: CanvasRenderingContext2D, beside: SeenBeside, palette: Palette, place: Place): void {
  const edge = (place.width * beside.percent) / 100;
  pen.save();
  pen.beginPath();
  pen.rect(edge, 0, place.width - edge, place.height);
  pen.clip();
  drawMap(pen, beside.scene, beside.layer, beside.drawn, palette, place);
  pen.restore();
  pen.fillStyle = palette.ink;
  pen.fillRect(edge - 1, 0, 2, place.height);
  pen.font = font("600", 12);
  drawLabel(pen, beside.left, edge - 8, MARGIN, palette, "right");
  drawLabel(pen, beside.right, edge + 8, MARGIN, palette, "left");
}

function drawArea(pen: CanvasRenderingContext2D, area: SeenArea, palette: Palette, place: Place): void {
  const path = shapePath(area.shape, place);
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, place.width, place.height);
  pen.clip();
  pen.lineJoin = "round";
  for (const [colour, width] of [[palette.sheet, 4.5], [palette.accent, 2]] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke(path);
  }
  const { x, y } = pixelOf(place, centreOf(area.shape));
  pen.font = font("600", 13);
  if (area.words) drawLabel(pen, area.words, x, y, palette, "center");
  pen.restore();
}

function drawPin(pen: CanvasRenderingContext2D, { x, y, number }: PlacedNote, palette: Palette): void {
  pen.save();
  for (const [colour, radius] of [[palette.sheet, 13], [palette.accent, 11]] as const) {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fill();
  }
  pen.fillStyle = palette.sheet;
  pen.font = font("650", 12);
  pen.textAlign = "center";
  pen.fillText(String(number), x, y + 4.5);
  pen.restore();
}

/** Writes words on a patch of the sheet's colour. */
function drawLabel(
  pen: CanvasRenderingContext2D,
  words: string,
  x: number,
  y: number,
  palette: Palette,
  align: "left" | "right" | "center",
): void {
  const width = pen.measureText(words).width + 12;
  const left = align === "left" ? x : align === "right" ? x - width : x - width / 2;
  pen.fillStyle = palette.sheet;
  pen.fillRect(left, y - 10, width, 21);
  pen.fillStyle = palette.ink;
  pen.fillText(words, left + 6, y + 5);
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
