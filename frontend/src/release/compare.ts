/** Comparison of two releases: the second is drawn on a map of its own, cut off at a divider. */
import type { Palette } from "../colour/ramps";
import { type OpenRelease, openRelease } from "../data/open-release";
import type { Scene } from "../data/scene";
import type { MapLayer, Style } from "../layers/map-layer";
import { openingLayer, readOpening } from "../layers/opening";
import { loadLayer, readLooks } from "../layers/registry";
import type { DrawnMap as Drawn } from "../map/map";
import { element } from "../ui/dom";
import { t } from "../ui/translate";
import type { SeenBeside } from "./keepsake";

/** A release to compare with that of the page. */
export type Other = { id: string; title: string; array: string; basemap: string; looks: string; opens: string };

const STEP = 2;

export class Comparison {
  private readonly pane = element("div", "compare");
  private readonly divider = element("div", "divider");
  private drawn: Drawn | null = null;
  private layer: MapLayer | null = null;
  private streets = true;
  private scene: Scene | null = null;
  private wanted: string | null = null;
  private readonly follow = (): void => this.keepUp();

  constructor(
    private readonly frame: HTMLElement,
    private readonly main: Drawn,
    private readonly mapModule: typeof import("../map/map"),
    private readonly names: { left: HTMLElement; right: HTMLElement },
    /** Position of the divider, in per cent of the width. */
    private percent: number,
    private readonly moved: (percent: number) => void,
  ) {
    const { divider } = this;
    divider.tabIndex = 0;
    for (const [name, value] of Object.entries({
      role: "slider",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-label": t("Divider between the two maps"),
    })) {
      divider.setAttribute(name, value);
    }
    divider.append(element("span", "grip", "\u2039 \u203a"));
    divider.addEventListener("pointerdown", (event) => this.grab(event));
    divider.addEventListener("keydown", (event) => this.key(event));
  }

  /** The layer at a distance in pixels from the left edge; null where it is the page's own. */
  seenAt(x: number): MapLayer | null {
    const edge = (this.frame.clientWidth * this.percent) / 100;
    return this.layer && x > edge ? this.layer : null;
  }

  /** What is seen of the other map; null where none is compared. */
  get seen(): SeenBeside | null {
    if (!this.drawn || !this.layer || !this.scene) return null;
    const [left, right] = [this.names.left.textContent ?? "", this.names.right.textContent ?? ""];
    const drawn = this.drawn.picture();
    return { scene: this.scene, layer: this.layer, drawn, percent: this.percent, left, right };
  }

  get isOpen(): boolean {
    return this.drawn !== null;
  }

  async open(other: Other, style: Style, palette: Palette): Promise<void> {
    this.close();
    this.wanted = other.id;
    const opened = await openRelease(other.array, other.basemap);
    const { release, scene } = opened;
    const layer = await loadLayer(openingLayer(release, readOpening(other.opens)), release, scene, readLooks(other.looks));
    if (this.wanted !== other.id) return;
    layer.restyle(style, palette);
    this.put(opened, layer, palette, other.title);
  }

  /** Shows a layer that is styled already beside the page's own. */
  openLayer(opened: OpenRelease, layer: MapLayer, palette: Palette, title: string): void {
    if (this.drawn) {
      this.layer = layer;
      this.drawn.recolour(palette);
      this.drawn.show(layer);
      this.names.right.textContent = title;
      return;
    }
    this.wanted = layer.name;
    this.put(opened, layer, palette, title);
  }

  private put(opened: OpenRelease, layer: MapLayer, palette: Palette, title: string): void {
    this.layer = layer;
    this.scene = opened.scene;
    this.show(opened, layer, palette);
    this.names.right.textContent = title;
  }

  close(): void {
    this.wanted = null;
    this.main.map.off("move", this.follow);
    this.drawn?.map.remove();
    this.drawn = null;
    this.layer = null;
    for (const part of [this.pane, this.divider]) part.remove();
    for (const name of Object.values(this.names)) name.hidden = true;
  }

  showGround(streets: boolean): void {
    this.streets = streets;
    this.drawn?.showGround(streets);
  }

  restyle(style: Style, palette: Palette): void {
    this.layer?.restyle(style, palette);
    this.drawn?.recolour(palette);
  }

  private show(opened: OpenRelease, layer: MapLayer, palette: Palette): void {
    const canvas = element("div", "canvas");
    this.pane.replaceChildren(canvas);
    this.frame.querySelector(".canvas")!.after(this.pane, this.divider);
    const { map } = this.main;
    const { lng, lat } = map.getCenter();
    const view = { zoom: map.getZoom(), latitude: lat, longitude: lng };
    // Both maps take the bounds and zooms of the first, so that they always show the same place.
    const limits = { bounds: map.getMaxBounds(), zoom: map.getMaxZoom() };
    this.drawn = new this.mapModule.DrawnMap(canvas, opened, layer, palette, view);
    this.drawn.showGround(this.streets);
    this.drawn.map.setMaxBounds(limits.bounds);
    this.drawn.map.setMaxZoom(limits.zoom);
    this.drawn.map.getCanvas().tabIndex = -1;
    this.drawn.map.getCanvas().setAttribute("aria-hidden", "true");
    map.on("move", this.follow);
    for (const name of Object.values(this.names)) name.hidden = false;
    this.keepUp();
    this.place();
    this.drawn.map.once("idle", () => (this.frame.dataset.compared = this.wanted ?? ""));
  }

  private keepUp(): void {
    const { map } = this.main;
    this.drawn?.map.jumpTo({ center: map.getCenter(), zoom: map.getZoom() });
  }

  private place(): void {
    this.pane.style.clipPath = `inset(0 0 0 ${this.percent}%)`;
    this.divider.style.left = `${this.percent}%`;
    this.divider.setAttribute("aria-valuenow", String(this.percent));
    this.names.left.style.right = `calc(${100 - this.percent}% + 8px)`;
    this.names.right.style.left = `calc(${this.percent}% + 8px)`;
  }

  private move(percent: number): void {
    this.percent = Math.round(Math.min(100, Math.max(0, percent)));
    this.place();
    this.moved(this.percent);
  }

  private grab(event: PointerEvent): void {
    event.preventDefault();
    this.divider.focus();
    this.divider.setPointerCapture(event.pointerId);
    const { left, width } = this.frame.getBoundingClientRect();
    const drag = (at: PointerEvent): void => this.move(((at.clientX - left) / width) * 100);
    const drop = (): void => {
      this.divider.removeEventListener("pointermove", drag);
      this.divider.removeEventListener("pointerup", drop);
      this.divider.removeEventListener("pointercancel", drop);
    };
    this.divider.addEventListener("pointermove", drag);
    this.divider.addEventListener("pointerup", drop);
    this.divider.addEventListener("pointercancel", drop);
  }

  private key(event: KeyboardEvent): void {
    const by = event.shiftKey ? 5 * STEP : STEP;
    const to: Record<string, number> = {
      ArrowLeft: this.percent - by,
      ArrowDown: this.percent - by,
      ArrowRight: this.percent + by,
      ArrowUp: this.percent + by,
      Home: 0,
      End: 100,
    };
    if (!(event.key in to)) return;
    event.preventDefault();
    this.move(to[event.key]!);
  }
}
