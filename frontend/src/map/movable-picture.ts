/**
 * The picture that the server keeps of a map, where the map will be. The page itself lays it there
 * (map.css); here it learns to follow fingers and the mouse, for as long as it stands for the map.
 */
import { toMercator } from "../geometry/mercator";
import { type Bounds, fit, type Pixel, type Place, type View, viewOf } from "../geometry/place";
import { need } from "../ui/dom";

/** Where the legend stands below the map (map.css), and the preloads of a map's page (_preloads.html). */
const NARROW = "(max-width: 720px)";

/** Size of the server's picture, its margin, and where its map begins, as in `artefacts/preview.py`. */
export const PICTURED = { width: 1200, height: 800, margin: 40, head: 110 };

/** How far the picture can be enlarged: further, there is nothing more to see in it. */
const LARGEST = 8;

/** Where the picture is drawn: pixels by which its corner was moved, and how much it is enlarged. */
export type Shift = { x: number; y: number; scale: number };

export class MovablePicture {
  readonly image: HTMLImageElement;
  /** The part of the picture that is a map. */
  readonly corner: Place;
  /** How often it was moved. */
  moves = 0;
  private shift: Shift = { x: 0, y: 0, scale: 1 };
  private readonly fingers = new Map<number, Pixel>();
  private waiting: (() => void) | null = null;
  private last: View | null = null;

  private constructor(private readonly early: HTMLElement, readonly bounds: Bounds, pictured: Bounds) {
    const { width, height, margin } = PICTURED;
    this.image = need(early, "img");
    this.corner = fit(pictured, width, height, margin);
    void this.install();
  }

  /** The picture of a page; null on wide screens, where it is not shown, and if a link chooses how the map looks. */
  static of(frame: HTMLElement): MovablePicture | null {
    const early = frame.querySelector<HTMLElement>(".early");
    const { bounds, pictured } = frame.dataset;
    if (early && bounds && pictured && !location.hash && matchMedia(NARROW).matches)
      return new MovablePicture(early, JSON.parse(bounds) as Bounds, JSON.parse(pictured) as Bounds);
    early?.remove();
    return null;
  }

  /** Whether it has loaded; returns when that is known. */
  async seen(): Promise<boolean> {
    return this.image.decode().then(() => true, () => false);
  }

  /** What the map has to show to be where the picture is now, or was at last. */
  view(): View {
    if (this.last) return this.last;
    const { left, top, scale } = this.laid();
    const perPixel = this.corner.perPixel / scale;
    const { clientWidth: width, clientHeight: height } = this.early;
    const west = this.corner.west - left * perPixel;
    return viewOf({ west, north: this.corner.north + top * perPixel, perPixel, width, height });
  }

  /** Calls `then` as soon as nobody holds the picture. */
  whenLeft(then: () => void): void {
    if (this.fingers.size) this.waiting = then;
    else then();
  }

  remove(): void {
    this.last ??= this.view();
    this.early.remove();
  }

  private async install(): Promise<void> {
    if (!(await this.seen())) return this.remove();
    const { early } = this;
    early.classList.add("movable");
    early.addEventListener("pointerdown", (event) => {
      early.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    early.addEventListener("pointermove", (event) => this.follow(event));
    for (const end of ["pointerup", "pointercancel"] as const) early.addEventListener(end, (event) => this.leave(event));
    requestAnimationFrame(() => {
      performance.mark("dpgeo:picture");
      performance.mark("dpgeo:moves");
    });
  }

  private follow({ pointerId, clientX, clientY }: PointerEvent): void {
    const before = [...this.fingers.values()];
    if (!this.fingers.has(pointerId)) return;
    this.fingers.set(pointerId, { x: clientX, y: clientY });
    const origin = this.early.getBoundingClientRect();
    const { left, top } = this.used();
    const from = { x: origin.left + left, y: origin.top + top };
    this.put(followed(this.shift, from, before, [...this.fingers.values()]));
  }

  private leave({ pointerId }: PointerEvent): void {
    this.fingers.delete(pointerId);
    if (this.fingers.size) return;
    this.waiting?.();
    this.waiting = null;
  }

  /** Moves the picture, but not so far that the middle of what is seen leaves what the map opens on. */
  private put(shift: Shift): void {
    this.shift = shift;
    const { west, north, perPixel } = this.corner;
    const { left, top, scale } = this.laid();
    const low = toMercator({ longitude: this.bounds[0], latitude: this.bounds[1] });
    const high = toMercator({ longitude: this.bounds[2], latitude: this.bounds[3] });
    const over = (middle: number, from: number, to: number): number => Math.min(0, middle - from) || Math.max(0, middle - to);
    const { clientWidth, clientHeight } = this.early;
    const across = (x: number): number => left + ((x - west) / perPixel) * scale;
    const down = (y: number): number => top + ((north - y) / perPixel) * scale;
    const x = shift.x + over(clientWidth / 2, across(low.x), across(high.x));
    const y = shift.y + over(clientHeight / 2, down(high.y), down(low.y));
    this.shift = { ...shift, x, y };
    this.image.style.transform = `translate(${x}px, ${y}px) scale(${shift.scale})`;
    this.moves += 1;
  }

  /** Corner of the picture's map in pixels of the sheet, and pixels of the sheet to one of the picture. */
  private laid(): { left: number; top: number; scale: number } {
    const { left, top, width } = this.used();
    const { x, y, scale: larger } = this.shift;
    const scale = (width / PICTURED.width) * larger;
    return { left: left + x, top: top + y + PICTURED.head * scale, scale };
  }

  /** Where the page lays the picture that nobody has moved. */
  private used(): { left: number; top: number; width: number } {
    const { left, top, width } = getComputedStyle(this.image);
    return { left: parseFloat(left), top: parseFloat(top), width: parseFloat(width) };
  }
}

/**
 * The shift after fingers have moved, so that what lies under them stays there: one finger moves the
 * picture, two enlarge it as well. `from` is the picture's corner without any shift.
 */
export function followed(shift: Shift, from: Pixel, before: readonly Pixel[], after: readonly Pixel[]): Shift {
  const [was, is] = [middleOf(before), middleOf(after)];
  const spread = distance(before) ? distance(after) / distance(before) : 1;
  const scale = Math.min(LARGEST, Math.max(1, shift.scale * spread));
  const grown = scale / shift.scale;
  return {
    x: is.x - from.x - (was.x - from.x - shift.x) * grown,
    y: is.y - from.y - (was.y - from.y - shift.y) * grown,
    scale,
  };
}

function middleOf(fingers: readonly Pixel[]): Pixel {
  const of = (axis: "x" | "y"): number => fingers.reduce((sum, each) => sum + each[axis], 0) / fingers.length;
  return { x: of("x"), y: of("y") };
}

/** Distance of the first two fingers; 0 for one finger. */
function distance([one, other]: readonly Pixel[]): number {
  return one && other ? Math.hypot(other.x - one.x, other.y - one.y) : 0;
}
