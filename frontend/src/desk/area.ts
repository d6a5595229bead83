/** Map on which a study area is chosen, by pointer or by keyboard; the fields beside it follow. */
import { shapePath } from "../canvas/paths";
import { onThemeChange, readPalette } from "../colour/ramps";
import type { PlaceName } from "../data/basemap";
import type { AreaShape, Corners } from "../geometry/area-shape";
import { type Bounds, type Pixel, pixelOf, type Place, positionAt } from "../geometry/place";
import { boundsOfArea } from "../geometry/shapes";
import { choices } from "../ui/controls";
import { need } from "../ui/dom";
import { formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import { AreaFields, SIDES } from "./area-fields";
import { drawPicture, type LandPath } from "./area-picture";
import { finish, putCorner, shapeSoFar, type Tool } from "./area-sketch";
import {
  decimalsAt,
  type FetchedLand,
  landSuffices,
  panned,
  placeAround,
  resized,
  sizeOf,
  visibleBounds,
  zoomed,
} from "./area-view";

/** Pixels within which a press is a click, and a corner the one before it. */
const NEAR = 4;
/** Pixels from the edge at which the map moves under the cursor. */
const EDGE = 20;

export class AreaMap {
  private readonly canvas: HTMLCanvasElement;
  private readonly fields: AreaFields;
  private readonly status: HTMLElement;
  private tool: Tool = "box";
  private place!: Place;
  private land: (LandPath & FetchedLand) | null = null;
  private landQuery = "";
  private names: PlaceName[] = [];
  private corners: Corners = [];
  /** The outline of a place that was named instead of drawn. */
  private named: AreaShape | null = null;
  private cursor: Pixel;
  private pressed: Pixel | null = null;

  constructor(private readonly figure: HTMLElement) {
    this.canvas = need(figure, "canvas");
    this.status = need(figure, "[role=status]");
    const form = figure.closest("form") ?? document.forms.namedItem(figure.dataset.form!)!;
    this.fields = new AreaFields(form);
    form.addEventListener("place", (event) => this.showPlace((event as CustomEvent<AreaShape | null>).detail));
    figure.hidden = false;
    this.showTyped();
    this.cursor = this.middle();
    this.listen();
    onThemeChange(() => this.draw());
    new ResizeObserver(() => {
      this.move(resized(this.place, this.canvas.clientWidth, this.canvas.clientHeight));
    }).observe(this.canvas);
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.track(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => this.drop());
    canvas.addEventListener("dblclick", () => this.tool === "outline" && this.finish());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    canvas.addEventListener("wheel", (event) => {
      // Unless a key is held, the wheel scrolls the page, as it does elsewhere.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(2 ** (event.deltaY / 200), pixelAt(event));
    }, { passive: false });
    for (const button of this.figure.querySelectorAll<HTMLElement>("[data-zoom]")) {
      button.addEventListener("click", () => this.zoom(button.dataset.zoom === "in" ? 0.5 : 2, this.middle()));
    }
    choices(need(this.figure, "[data-choose=tool]"), this.tool, (tool) => {
      this.tool = tool as Tool;
      this.drop();
    });
    this.fields.onChange(() => this.showTyped());
  }

  private showTyped(): void {
    this.move(placeAround(this.fields.read(), this.canvas.clientWidth, this.canvas.clientHeight));
  }

  private showPlace(area: AreaShape | null): void {
    this.named = area;
    this.status.textContent = area ? sizeWords(boundsOfArea(area)) : "";
    if (area) this.move(placeAround(area, this.canvas.clientWidth, this.canvas.clientHeight));
    else this.draw();
  }

  private zoom(factor: number, about: Pixel): void {
    this.move(zoomed(this.place, factor, about));
  }

  private move(place: Place): void {
    this.place = place;
    this.draw();
    void this.fetchLand();
  }

  /** Fetches land as fine as the view needs it, once it reaches beyond what is there. */
  private async fetchLand(): Promise<void> {
    const visible = visibleBounds(this.place);
    if (landSuffices(this.land, visible)) return;
    const query = SIDES.map((name, at) => `${name}=${visible[at]!.toFixed(decimalsAt(this.place))}`).join("&");
    if (query === this.landQuery) return;
    this.landQuery = query;
    const response = await fetch(`${this.figure.dataset.land}?${query}`).catch(() => null);
    // Without land the map still has its frame, and the numbers stay.
    if (!response?.ok || query !== this.landQuery) return;
    const { bounds, land, names } = (await response.json()) as { bounds: Bounds; land: AreaShape; names: PlaceName[] };
    this.names = names;
    const { west, north, perPixel } = this.place;
    this.land = { west, north, perPixel, bounds, span: visible[2] - visible[0], path: shapePath(land, this.place) };
    this.draw();
    this.figure.dataset.state = "drawn";
  }

  private middle(): Pixel {
    return { x: this.place.width / 2, y: this.place.height / 2 };
  }

  private cornerAt(pixel: Pixel): Corners[number] {
    const { longitude, latitude } = positionAt(this.place, pixel);
    return [longitude, latitude];
  }

  private press(event: PointerEvent): void {
    this.pressed = this.cursor = pixelAt(event);
    this.canvas.setPointerCapture(event.pointerId);
    if (this.tool === "box") this.corners = [this.cornerAt(this.pressed)];
  }

  private track(event: PointerEvent): void {
    const before = this.cursor;
    this.cursor = pixelAt(event);
    if (this.tool === "move" && this.pressed) {
      this.move(panned(this.place, before.x - this.cursor.x, before.y - this.cursor.y));
    } else if (this.corners.length) this.draw();
  }

  private release(event: PointerEvent): void {
    const from = this.pressed;
    this.pressed = null;
    if (!from) return;
    this.cursor = pixelAt(event);
    const clicked = distance(this.cursor, from) < NEAR;
    if (this.tool === "outline" && clicked) this.putCorner();
    if (this.tool === "box") {
      if (clicked) this.drop();
      else this.putCorner();
    }
  }

  /** Puts a corner where the cursor is. */
  private putCorner(): void {
    const last = this.corners.at(-1);
    const repeatsLast = last !== undefined && distance(this.pixelOf(last), this.cursor) < NEAR;
    const { corners, finished } = putCorner(this.tool, this.corners, this.cornerAt(this.cursor), repeatsLast);
    this.corners = corners;
    if (finished) this.finish();
    else this.draw();
  }

  private pixelOf([longitude, latitude]: Corners[number]): Pixel {
    return pixelOf(this.place, { longitude, latitude });
  }

  private drop(): void {
    this.corners = [];
    this.pressed = null;
    this.draw();
  }

  private finish(): void {
    const finished = finish(this.tool, this.corners, decimalsAt(this.place));
    this.drop();
    if (!finished) return;
    this.named = null;
    this.fields.write(finished);
    this.status.textContent = sizeWords(finished.bounds);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const far = event.shiftKey ? 50 : 10;
    const steps: Record<string, [x: number, y: number]> = {
      ArrowLeft: [-far, 0],
      ArrowRight: [far, 0],
      ArrowUp: [0, -far],
      ArrowDown: [0, far],
    };
    const step = steps[event.key];
    if (step) this.step(...step);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5, this.cursor);
    else if (event.key === "-") this.zoom(2, this.cursor);
    else if (event.key === "Enter" || event.key === " ") this.tool !== "move" && this.putCorner();
    else if (event.key === "Escape") this.drop();
    else return;
    event.preventDefault();
  }

  /** Moves the cursor; at an edge, or where nothing is drawn, the map moves under it. */
  private step(x: number, y: number): void {
    const { width, height } = this.place;
    const to = { x: this.cursor.x + x, y: this.cursor.y + y };
    const inside = to.x > EDGE && to.y > EDGE && to.x < width - EDGE && to.y < height - EDGE;
    if (this.tool === "move" || !inside) return this.move(panned(this.place, x, y));
    this.cursor = to;
    this.draw();
  }

  private draw(): void {
    const { canvas, place, land, names } = this;
    if (!place.width || !place.height) return;
    const sketched = this.corners.length ? shapeSoFar(this.tool, this.corners, this.cornerAt(this.cursor)) : null;
    const area = sketched ?? this.named ?? this.fields.read();
    const cursor = document.activeElement === canvas && this.tool !== "move" ? this.cursor : null;
    drawPicture(canvas, { place, land, names, area, cursor }, readPalette(canvas));
  }
}

function sizeWords(bounds: Bounds): string {
  const { width, height } = sizeOf(bounds);
  return t("The study area is {width} km wide and {height} km high.", {
    width: formatNumber(width),
    height: formatNumber(height),
  });
}

function pixelAt({ offsetX, offsetY }: MouseEvent): Pixel {
  return { x: offsetX, y: offsetY };
}

function distance(one: Pixel, other: Pixel): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
