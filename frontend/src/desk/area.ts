/** Choosing a study area on a map, by pointer or by keys; its numbers stand beside it. */
import { drawFrame, frameEdges } from "../canvas/neatline";
import { shapePath } from "../canvas/paths";
import { onThemeChange, readPalette } from "../colour/ramps";
import { type AreaShape, fromBounds, fromCorners, readBounds, readGeojson } from "../geometry/area-shape";
import { toDegrees, toMercator } from "../geometry/mercator";
import { type Bounds, type Corner as Origin, fit, type Place } from "../geometry/place";
import { boundsOfArea } from "../geometry/shapes";
import { choices } from "../ui/controls";
import { need } from "../ui/dom";
import { formatNumber } from "../ui/format";
import { t } from "../ui/translate";

type Tool = "box" | "outline" | "move";
type Pixel = { x: number; y: number };
/** Land as a path that is made once, in pixels of the view it was fetched for. */
type Ground = Origin & { bounds: Bounds; land: Path2D; wide: number };
type Corner = [longitude: number, latitude: number];

const SIDES = ["west", "south", "east", "north"] as const;
const WORLD: Bounds = [-180, -60, 180, 75];
const NOTHING: AreaShape = { type: "MultiPolygon", coordinates: [] };
const METRES_PER_DEGREE = 111_195;
/** Metres to a pixel, at the closest. */
const CLOSEST = 2;
/** Pixels within which a press is a click, and a corner the one before it. */
const NEAR = 4;

export class AreaMap {
  private readonly canvas: HTMLCanvasElement;
  private readonly sides: HTMLInputElement[];
  private readonly outline: HTMLTextAreaElement;
  private readonly status: HTMLElement;
  private tool: Tool = "box";
  private place!: Place;
  private ground: Ground | null = null;
  private wanted = "";
  private corners: Corner[] = [];
  private cursor: Pixel = { x: 0, y: 0 };
  private pressed: Pixel | null = null;

  constructor(private readonly figure: HTMLElement) {
    this.canvas = need(figure, "canvas");
    this.status = need(figure, "[role=status]");
    const form = figure.closest("form")!;
    this.sides = SIDES.map((name) => need<HTMLInputElement>(form, `[name=${name}]`));
    this.outline = need(form, "[name=outline]");
    figure.hidden = false;
    this.goTo(this.typed());
    this.cursor = this.middle();
    this.listen();
    onThemeChange(() => this.draw());
    new ResizeObserver(() => this.resize()).observe(this.canvas);
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
      // Without a key the wheel scrolls the page, as everywhere on it.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(2 ** (event.deltaY / 200), { x: event.offsetX, y: event.offsetY });
    }, { passive: false });
    for (const button of this.figure.querySelectorAll<HTMLElement>("[data-zoom]")) {
      button.addEventListener("click", () => this.zoom(button.dataset.zoom === "in" ? 0.5 : 2, this.middle()));
    }
    choices(need(this.figure, "[data-choose=tool]"), this.tool, (tool) => {
      this.tool = tool as Tool;
      this.drop();
    });
    for (const field of [...this.sides, this.outline]) {
      field.addEventListener("change", () => this.goTo(this.typed()));
    }
  }

  /** What the form's fields say; null while they say nothing. */
  private typed(): AreaShape | null {
    try {
      if (this.outline.value.trim()) return readGeojson(this.outline.value);
      return fromBounds(readBounds(this.sides.map((side) => side.value)));
    } catch {
      return null;
    }
  }

  private goTo(shape: AreaShape | null): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.place = fit(shape ? reach(shape) : WORLD, width, height, Math.min(width, height) / (shape ? 4 : 40));
    this.moved();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const { west, north, perPixel } = this.place;
    this.place = {
      west: west + ((this.place.width - width) / 2) * perPixel,
      north: north - ((this.place.height - height) / 2) * perPixel,
      ...{ perPixel, width, height },
    };
    this.moved();
  }

  private zoom(factor: number, about: Pixel): void {
    const { west, north, perPixel, width } = this.place;
    const widest = toMercator({ longitude: 360, latitude: 0 }).x / width;
    const next = Math.min(widest, Math.max(CLOSEST, perPixel * factor));
    this.place = {
      ...this.place,
      west: west + about.x * (perPixel - next),
      north: north - about.y * (perPixel - next),
      perPixel: next,
    };
    this.moved();
  }

  private pan(x: number, y: number): void {
    const { west, north, perPixel } = this.place;
    this.place = { ...this.place, west: west + x * perPixel, north: north - y * perPixel };
    this.moved();
  }

  private moved(): void {
    this.draw();
    void this.fetchGround();
  }

  /** Fetches land as fine as the view needs it, once it reaches beyond what is there. */
  private async fetchGround(): Promise<void> {
    const seen = this.seen();
    const wide = seen[2] - seen[0];
    const held = this.ground?.bounds;
    const within = held && seen.every((side, at) => (at < 2 ? side >= held[at]! : side <= held[at]!));
    if (within && wide > this.ground!.wide / 4) return;
    const query = SIDES.map((name, at) => `${name}=${seen[at]!.toFixed(this.decimals())}`).join("&");
    if (query === this.wanted) return;
    this.wanted = query;
    const response = await fetch(`${this.figure.dataset.land}?${query}`).catch(() => null);
    // Without land the map still has its frame, and the numbers stay.
    if (!response?.ok || query !== this.wanted) return;
    const { bounds, land } = (await response.json()) as { bounds: Bounds; land: AreaShape };
    const { west, north, perPixel } = this.place;
    this.ground = { ...{ west, north, perPixel, bounds, wide }, land: shapePath(land, this.place) };
    this.draw();
    this.figure.dataset.state = "drawn";
  }

  /** What the view shows of the world, in degrees. */
  private seen(): Bounds {
    const { width, height } = this.place;
    const [west, north] = this.degrees({ x: 0, y: 0 });
    const [east, south] = this.degrees({ x: width, y: height });
    return [Math.max(-180, west), Math.max(-85, south), Math.min(180, east), Math.min(85, north)];
  }

  private degrees({ x, y }: Pixel): Corner {
    const { west, north, perPixel } = this.place;
    const { longitude, latitude } = toDegrees(west + x * perPixel, north - y * perPixel);
    return [longitude, latitude];
  }

  private decimals(): number {
    return Math.min(5, Math.max(0, Math.ceil(Math.log10(METRES_PER_DEGREE / this.place.perPixel))));
  }

  private middle(): Pixel {
    return { x: this.place.width / 2, y: this.place.height / 2 };
  }

  private press(event: PointerEvent): void {
    this.pressed = this.cursor = { x: event.offsetX, y: event.offsetY };
    this.canvas.setPointerCapture(event.pointerId);
    if (this.tool === "box") this.corners = [this.degrees(this.pressed)];
  }

  private track(event: PointerEvent): void {
    const before = this.cursor;
    this.cursor = { x: event.offsetX, y: event.offsetY };
    if (this.tool === "move" && this.pressed) this.pan(before.x - this.cursor.x, before.y - this.cursor.y);
    else if (this.corners.length) this.draw();
  }

  private release(event: PointerEvent): void {
    const from = this.pressed;
    this.pressed = null;
    if (!from) return;
    this.cursor = { x: event.offsetX, y: event.offsetY };
    const clicked = Math.hypot(this.cursor.x - from.x, this.cursor.y - from.y) < NEAR;
    if (this.tool === "outline" && clicked) this.corner();
    if (this.tool === "box") {
      if (clicked) this.drop();
      else this.corner();
    }
  }

  /** Puts a corner where the cursor is: the second of a box ends it, a repeated one an outline. */
  private corner(): void {
    const corner = this.degrees(this.cursor);
    const last = this.corners.at(-1);
    if (this.tool === "outline" && last && this.near(last)) return this.finish();
    this.corners.push(corner);
    if (this.tool === "box" && this.corners.length === 2) this.finish();
    else this.draw();
  }

  private near([longitude, latitude]: Corner): boolean {
    const { x, y } = toMercator({ longitude, latitude });
    const { west, north, perPixel } = this.place;
    return Math.hypot((x - west) / perPixel - this.cursor.x, (north - y) / perPixel - this.cursor.y) < NEAR;
  }

  private drop(): void {
    this.corners = [];
    this.pressed = null;
    this.draw();
  }

  private finish(): void {
    const corners = this.corners.map(([x, y]): Corner => [this.rounded(x, 180), this.rounded(y, 85)]);
    this.drop();
    if (corners.length < 2) return;
    const [west, south, east, north] = reach(fromCorners(corners));
    if (west === east || south === north || (this.tool === "outline" && corners.length < 3)) return;
    const box = this.tool === "box";
    [west, south, east, north].forEach((side, at) => (this.sides[at]!.value = box ? String(side) : ""));
    this.outline.value = box ? "" : JSON.stringify(fromCorners(corners));
    if (!box) this.outline.closest("details")!.open = true;
    const wide = (east - west) * METRES_PER_DEGREE * Math.cos(((south + north) / 2 / 180) * Math.PI);
    const high = (north - south) * METRES_PER_DEGREE;
    this.status.textContent = t("The study area is {width} km wide and {height} km high.", {
      width: formatNumber(wide / 1000),
      height: formatNumber(high / 1000),
    });
    this.draw();
  }

  private rounded(degrees: number, most: number): number {
    return Number(Math.min(most, Math.max(-most, degrees)).toFixed(this.decimals()));
  }

  private key(event: KeyboardEvent): void {
    const far = event.shiftKey ? 50 : 10;
    const steps: Record<string, [number, number]> = {
      ...{ ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, -far], ArrowDown: [0, far] },
    };
    const step = steps[event.key];
    if (step) this.step(...step);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5, this.cursor);
    else if (event.key === "-") this.zoom(2, this.cursor);
    else if (event.key === "Enter" || event.key === " ") this.tool !== "move" && this.corner();
    else if (event.key === "Escape") this.drop();
    else return;
    event.preventDefault();
  }

  /** The cursor walks; at an edge, or where nothing is drawn, the map moves under it. */
  private step(x: number, y: number): void {
    const { width, height } = this.place;
    const to = { x: this.cursor.x + x, y: this.cursor.y + y };
    const inside = to.x > 20 && to.y > 20 && to.x < width - 20 && to.y < height - 20;
    if (this.tool === "move" || !inside) return this.pan(x, y);
    this.cursor = to;
    this.draw();
  }

  /** What is being drawn, to where the cursor is. */
  private drawn(): AreaShape | null {
    const [first] = this.corners;
    if (!first) return this.typed();
    const at = this.degrees(this.cursor);
    if (this.tool === "outline") return fromCorners([...this.corners, at]);
    return fromBounds([Math.min(first[0], at[0]), Math.min(first[1], at[1]), Math.max(first[0], at[0]), Math.max(first[1], at[1])]);
  }

  private draw(): void {
    const { canvas, place } = this;
    const { width, height } = place;
    if (!width || !height) return;
    const palette = readPalette(canvas);
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d")!;
    pen.scale(ratio, ratio);
    pen.fillStyle = palette.water;
    pen.fillRect(0, 0, width, height);
    this.drawLand(pen, palette.land, palette.coast);
    this.drawShape(pen, palette.accent, palette.sheet);
    drawFrame(pen, width, height, frameEdges(place), palette);
  }

  private drawLand(pen: CanvasRenderingContext2D, colour: string, coast: string): void {
    if (!this.ground) return;
    const { west, north, perPixel, land } = this.ground;
    const scale = perPixel / this.place.perPixel;
    pen.save();
    pen.translate((west - this.place.west) / this.place.perPixel, (this.place.north - north) / this.place.perPixel);
    pen.scale(scale, scale);
    pen.fillStyle = colour;
    pen.fill(land, "evenodd");
    pen.strokeStyle = coast;
    pen.lineWidth = 0.8 / scale;
    pen.stroke(land);
    pen.restore();
  }

  private drawShape(pen: CanvasRenderingContext2D, colour: string, casing: string): void {
    const path = shapePath(this.drawn() ?? NOTHING, this.place);
    pen.globalAlpha = 0.14;
    pen.fillStyle = colour;
    pen.fill(path);
    pen.globalAlpha = 1;
    if (document.activeElement === this.canvas && this.tool !== "move") {
      const { x, y } = this.cursor;
      path.addPath(new Path2D(`M${x - 9} ${y}h18M${x} ${y - 9}v18`));
    }
    for (const [stroke, width] of [[casing, 4.5], [colour, 2]] as const) {
      pen.strokeStyle = stroke;
      pen.lineWidth = width;
      pen.stroke(path);
    }
  }
}

/** West, south, east and north of a shape. */
function reach(shape: AreaShape): Bounds {
  return boundsOfArea(shape);
}
