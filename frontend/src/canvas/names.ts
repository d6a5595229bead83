/** Names of the largest places, written on static maps. */
import type { Palette } from "../colour/ramps";
import type { PlaceName } from "../data/basemap";
import { pixelOf, type Place } from "../geometry/place";

type Box = { left: number; right: number; top: number; bottom: number };

export type Written = { name: string; x: number; y: number; kind: PlaceName["kind"] };

/** Pixels of map for each name; with more names, too little of the map would be visible. */
const PER_NAME = 16_000;
const MOST = 24;
/** Below this width maps are thumbnails, with smaller letters. */
const SMALL = 480;
/** Room around a name, and between a name and the map's frame. */
const ROOM = 4;
const FRAME = 10;

/** Writes the most important names that do not overlap; the first names win, and countries come last. */
export function drawNames(
  pen: CanvasRenderingContext2D,
  names: readonly PlaceName[],
  place: Place,
  palette: Palette,
): void {
  pen.save();
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 3.5;
  pen.strokeStyle = palette.sheet;
  const size = place.width < SMALL ? 11 : 13;
  const style = (kind: PlaceName["kind"]): void => {
    pen.font = `${kind === "town" ? 500 : 600} ${kind === "country" ? size - 1 : size}px "Archivo Variable", Arial, sans-serif`;
  };
  const width = (name: string, kind: PlaceName["kind"]): number => {
    style(kind);
    return pen.measureText(name).width;
  };
  const ordered = [false, true].flatMap((last) => names.filter(({ kind }) => (kind === "country") === last));
  for (const { name, kind, x, y } of placeNames(ordered, place, width, size)) {
    style(kind);
    pen.fillStyle = kind === "country" ? palette.label : palette.ink;
    pen.strokeText(name, x, y);
    pen.fillText(name, x, y);
  }
  pen.restore();
}

/** Chooses the names that fit, and their positions; `widthOf` measures a name. */
export function placeNames(
  names: readonly PlaceName[],
  place: Place,
  widthOf: (name: string, kind: PlaceName["kind"]) => number,
  size: number,
): Written[] {
  const most = Math.min(MOST, Math.round((place.width * place.height) / PER_NAME));
  const taken: Box[] = [];
  const written: Written[] = [];
  for (const { name: plain, kind, at } of names) {
    if (written.length >= most) break;
    const { x, y } = pixelOf(place, { longitude: at[0], latitude: at[1] });
    if (x < 0 || y < 0 || x > place.width || y > place.height) continue;
    const name = kind === "country" ? plain.toUpperCase() : plain;
    const half = widthOf(name, kind) / 2 + ROOM;
    const box = { left: x - half, right: x + half, top: y - size / 2 - ROOM, bottom: y + size / 2 + ROOM };
    const inside =
      box.left >= FRAME && box.top >= FRAME && box.right <= place.width - FRAME && box.bottom <= place.height - FRAME;
    if (!inside || taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    written.push({ name, kind, x, y });
  }
  return written;
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
