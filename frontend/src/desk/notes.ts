/** Placing of notes: a press on the picture of a draft fills in where a note belongs. */
import { type Bounds, fit, type Place, positionAt } from "../geometry/place";
import { type Note, NotePins, readNotes } from "../map/notes";
import { need } from "../ui/dom";

/** Decimals of a position in degrees, which is about a metre. */
const DIGITS = 5;

export function installNotes(page: Document): void {
  const picture = page.querySelector<HTMLElement>(".placing");
  if (!picture) return;
  const rows = [...page.querySelectorAll<HTMLElement>(".note-row")];
  const draw = (): void => drawPins(picture, rows.length ? written(rows) : readNotes(picture));
  draw();
  addEventListener("resize", draw);
  if (rows.length === 0) return;
  let row = 0;
  rows.forEach((each, index) => {
    each.addEventListener("focusin", () => (row = index));
    each.addEventListener("input", draw);
  });
  need<HTMLElement>(page, "[data-placing]").hidden = false;
  const form = need<HTMLDetailsElement>(page, ".notes-form");
  need(picture, "canvas").addEventListener("click", (event) => {
    const { latitude, longitude } = positionAt(placeOn(picture), {
      x: (event as MouseEvent).offsetX,
      y: (event as MouseEvent).offsetY,
    });
    form.open = true;
    field(rows[row]!, "latitude").value = latitude.toFixed(DIGITS);
    field(rows[row]!, "longitude").value = longitude.toFixed(DIGITS);
    draw();
    field(rows[row]!, "text").focus({ preventScroll: true });
  });
}

function written(rows: HTMLElement[]): Note[] {
  return rows
    .map((row) => ({
      text: field(row, "text").value,
      latitude: Number.parseFloat(field(row, "latitude").value),
      longitude: Number.parseFloat(field(row, "longitude").value),
    }))
    .filter(({ latitude, longitude }) => Number.isFinite(latitude) && Number.isFinite(longitude));
}

function drawPins(picture: HTMLElement, notes: Note[]): void {
  picture.querySelectorAll(".pins, .flag").forEach((part) => part.remove());
  if (notes.length) new NotePins(picture, notes).put(placeOn(picture));
}

/** The same place as that of the picture, which shows the whole study area. */
function placeOn(picture: HTMLElement): Place {
  const { clientWidth, clientHeight } = need<HTMLCanvasElement>(picture, "canvas");
  return fit(JSON.parse(picture.dataset.bounds!) as Bounds, clientWidth, clientHeight);
}

function field(row: HTMLElement, name: string): HTMLInputElement {
  return need(row, `[data-note=${name}]`);
}
