/** Flag and outline of the feature that a reader points at, taps, or walks to with arrow keys. */
import type { Geometry } from "geojson";
import type { Map as MapLibre, MapMouseEvent } from "maplibre-gl";
import { pathData } from "../canvas/paths";
import type { Degrees } from "../geometry/mercator";
import { type Bounds, perPixelAt } from "../geometry/place";
import type { Arrow } from "../geometry/shapes";
import type { MapLayer, Spot } from "../layers/map-layer";
import { element } from "../ui/dom";
import { formatPosition } from "../ui/format";

const ARROWS: Record<string, Arrow> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Event sent by the frame when a reader has chosen something in the layer. */
export const CHOSEN = "dpgeo:chosen";

/** Width in CSS pixels of the mark around a feature without extent. */
const MARK = 14;

type Rectangle = { x: number; y: number; width: number; height: number };

export class Hover {
  private readonly outline = element("div", "cell-outline");
  private readonly shape = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private readonly flag = element("div", "flag");
  private readonly speech = element("p", "visually-hidden");
  private spot: Spot | null = null;
  private off = false;

  constructor(
    private readonly map: MapLibre,
    private readonly frame: HTMLElement,
    private layer: MapLayer,
    /** The layer that is visible at a distance in pixels from the left edge. */
    private readonly seenAt: (x: number) => MapLayer = () => this.layer,
  ) {
    this.speech.setAttribute("aria-live", "polite");
    this.flag.setAttribute("aria-hidden", "true");
    this.shape.setAttribute("aria-hidden", "true");
    this.shape.classList.add("shape-outline");
    frame.append(this.outline, this.shape, this.flag, this.speech);
    this.hide();
    map.on("mousemove", (event) => this.point(event));
    map.on("click", (event) => {
      this.point(event);
      this.choose({ longitude: event.lngLat.lng, latitude: event.lngLat.lat });
    });
    map.on("mouseout", () => this.hide());
    map.on("move", () => this.place());
    map.getCanvas().addEventListener("keydown", (event) => this.key(event));
  }

  /** Takes another layer, or the same with other classes. */
  use(layer: MapLayer): void {
    const { spot } = this;
    this.layer = layer;
    if (spot) this.show(this.read(spot.middle));
  }

  /** Pauses while the reader draws an area, for pointing means something else then. */
  suspend(off: boolean): void {
    this.off = off;
    if (off) this.hide();
  }

  private point(event: MapMouseEvent): void {
    if (this.off) return;
    const position = { longitude: event.lngLat.lng, latitude: event.lngLat.lat };
    this.show(this.read(position));
  }

  private read(position: Degrees): Spot | null {
    const { x } = this.map.project([position.longitude, position.latitude]);
    return this.seenAt(x).at(position, this.metresPerPixel(position));
  }

  private metresPerPixel({ latitude }: Degrees): number {
    return Math.cos((latitude * Math.PI) / 180) * perPixelAt(this.map.getZoom());
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.hide();
    if (event.key === "+" || event.key === "=") this.map.zoomIn();
    if (event.key === "-") this.map.zoomOut();
    if (event.key === "Enter" && this.spot) return this.choose(this.spot.middle);
    const arrow = ARROWS[event.key];
    if (this.off || !arrow || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { lng, lat } = this.map.getCenter();
    const near = { longitude: lng, latitude: lat };
    const spot = this.layer.step(this.spot, arrow, event.shiftKey ? 10 : 1, near);
    if (!spot) return;
    this.show(spot);
    this.follow(spot.middle);
    this.announce(spot);
  }

  /** Tells the page where the reader chose something of the layer. */
  private choose(position: Degrees): void {
    if (!this.off && this.layer.choose?.(position)) this.frame.dispatchEvent(new Event(CHOSEN));
  }

  private follow({ longitude, latitude }: Degrees): void {
    if (!this.map.getBounds().contains([longitude, latitude])) {
      this.map.jumpTo({ center: [longitude, latitude] });
    }
  }

  private show(spot: Spot | null): void {
    this.spot = spot;
    if (!spot?.figure) {
      this.conceal();
      return;
    }
    const { name, figure, margin, note } = spot;
    this.flag.replaceChildren(
      ...(name ? [element("span", "name", name)] : []),
      element("b", "", figure),
      " ",
      element("span", "pm", margin),
      ...(note ? [element("span", "note", note)] : []),
    );
    this.flag.hidden = false;
    this.place();
  }

  private announce({ figure, note, middle }: Spot): void {
    const words = figure ? this.flag.innerText.replace(/\s*\n\s*/g, ", ") : note;
    this.speech.textContent = `${words}, ${formatPosition(middle.longitude, middle.latitude)}`;
  }

  private hide(): void {
    this.spot = null;
    this.conceal();
  }

  private conceal(): void {
    this.outline.hidden = true;
    this.flag.hidden = true;
    this.shape.setAttribute("hidden", "");
  }

  private place(): void {
    if (!this.spot?.figure) return;
    const { outline, middle } = this.spot;
    const isBox = Array.isArray(outline);
    this.outline.hidden = !isBox;
    this.shape.toggleAttribute("hidden", isBox);
    if (isBox) {
      const box = this.boxOnScreen(outline);
      move(this.outline, box.x, box.y);
      this.outline.style.width = `${box.width}px`;
      this.outline.style.height = `${box.height}px`;
      this.placeFlag(box);
      return;
    }
    const { x, y } = this.map.project([middle.longitude, middle.latitude]);
    this.drawShape(outline, x, y);
    this.placeFlag({ x: x - MARK / 2, y: y - MARK / 2, width: MARK, height: MARK });
  }

  private boxOnScreen([west, south, east, north]: Bounds): Rectangle {
    const northWest = this.map.project([west, north]);
    const southEast = this.map.project([east, south]);
    const x = Math.round(northWest.x);
    const y = Math.round(northWest.y);
    return { x, y, width: Math.round(southEast.x) - x, height: Math.round(southEast.y) - y };
  }

  private drawShape(shape: Geometry | null, x: number, y: number): void {
    const radius = MARK / 2;
    const path = shape
      ? pathData(shape, (longitude, latitude) => this.map.project([longitude, latitude]))
      : `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${MARK} 0a${radius} ${radius} 0 1 0 ${-MARK} 0Z`;
    // A casing under the line makes it visible on every step of the ramp.
    this.shape.innerHTML = `<path class="casing" d="${path}"/><path class="line" d="${path}"/>`;
  }

  /** Places the flag above and to the right of the box, or inwards where it would leave the map. */
  private placeFlag({ x, y, width, height }: Rectangle): void {
    const room = this.map.getCanvas();
    const size = this.flag.getBoundingClientRect();
    const right = x + width + 8;
    const above = y - size.height - 8;
    const within = (value: number, limit: number) => Math.max(8, Math.min(value, limit - 8));
    move(
      this.flag,
      within(
        right + size.width > room.clientWidth - 8 ? x - size.width - 8 : right,
        room.clientWidth - size.width,
      ),
      within(above < 8 ? y + height + 8 : above, room.clientHeight - size.height),
    );
  }
}

function move(target: HTMLElement, x: number, y: number): void {
  target.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
}
