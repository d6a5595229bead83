/** Counts of areas that a reader draws, types or loads: the server adds up what was released. */
import type { Map as MapLibre, MapMouseEvent } from "maplibre-gl";
import { type AreaShape, type Corners, type Ends, ENDS, fromCorners, linkCorners, roundCorners } from "../geometry/area-shape";
import type { Hover } from "../map/hover";
import { messageOf } from "../ui/errors";
import { t } from "../ui/translate";
import { AreaOverlay } from "./area-overlay";
import { AreaPanel } from "./area-panel";
import {
  addCorner,
  areaOf,
  moveTo,
  outlineOf,
  press,
  type Sketch,
  startSketch,
  type Tool,
} from "./area-sketch";
import { askArea } from "./ask-area";
import type { SeenArea } from "./keepsake";

export class AreaTool {
  private readonly panel: AreaPanel;
  private readonly overlay: AreaOverlay;
  private sketch: Sketch | null = null;
  private areas: Ends<AreaShape> = {};
  /** Counts the questions, so that late answers can be told from the last. */
  private questions = 0;
  private slice = "";

  constructor(
    panel: HTMLElement,
    private readonly sheet: HTMLElement,
    private readonly map: MapLibre,
    private readonly hover: Hover,
    /** Told the corners of the areas that a link can hold. */
    private readonly changed: (areas: Ends<Corners>) => void,
    /** Told the areas themselves, none when they are removed. */
    private readonly asked: (areas: Ends<AreaShape>) => void = () => {},
  ) {
    this.overlay = new AreaOverlay(sheet, map);
    this.panel = new AreaPanel(panel, {
      draw: (tool) => this.begin(tool === this.sketch?.tool ? null : tool),
      clear: () => this.clear(),
      use: (shape) => this.use(shape),
    });
    map.on("move", () => this.draw());
    map.on("mousedown", (event) => this.press(event));
    map.on("mousemove", (event) => this.track(event));
    map.on("mouseup", (event) => this.release(event));
    map.on("touchstart", (event) => this.press(event as unknown as MapMouseEvent));
    map.on("touchmove", (event) => this.track(event as unknown as MapMouseEvent));
    map.on("touchend", (event) => this.release(event as unknown as MapMouseEvent));
    map.on("click", ({ lngLat }) => this.extend((sketch) => addCorner(sketch, [lngLat.lng, lngLat.lat])));
    map.on("dblclick", (event) => this.finish(event));
    addEventListener("keydown", (event) => this.key(event));
  }

  /** Takes areas from a link, of the kind that this page asks about. */
  restore(corners: Ends<Corners>): void {
    const given = this.panel.ends.filter((end) => corners[end]);
    this.areas = Object.fromEntries(given.map((end) => [end, fromCorners(corners[end]!)]));
    if (corners.from && !corners.to) this.panel.goOn();
    if (!given.length) return;
    this.asked(this.areas);
    void this.count();
  }

  /** The areas and what stands on them, as they are seen. */
  get seen(): SeenArea[] {
    return this.overlay.seen(this.areas);
  }

  /** Asks about this slice of time from now on, or about all. */
  ask(slice: string): void {
    if (slice === this.slice) return;
    this.slice = slice;
    this.askAgain();
  }

  /** Asks again, where the panel's address has changed. */
  askAgain(): void {
    if (Object.keys(this.areas).length) void this.count();
  }

  /** Starts drawing with a tool, or stops drawing. */
  private begin(tool: Tool | null): void {
    this.sketch = tool && startSketch(tool);
    this.hover.suspend(tool !== null);
    for (const handler of [this.map.dragPan, this.map.doubleClickZoom]) {
      if (tool) handler.disable();
      else handler.enable();
    }
    this.sheet.classList.toggle("drawing", tool !== null);
    if (tool) this.sheet.scrollIntoView({ block: "nearest" });
    this.panel.showTool(tool);
    this.draw();
  }

  private extend(step: (sketch: Sketch) => Sketch): void {
    if (!this.sketch) return;
    this.sketch = step(this.sketch);
    this.draw();
  }

  private press(event: MapMouseEvent): void {
    if (this.sketch?.tool !== "box") return;
    event.preventDefault();
    this.extend((sketch) => press(sketch, [event.lngLat.lng, event.lngLat.lat]));
  }

  private track({ lngLat }: MapMouseEvent): void {
    this.extend((sketch) => moveTo(sketch, [lngLat.lng, lngLat.lat]));
  }

  /** The end of a drag; the end of a touch may come without a position. */
  private release({ lngLat }: MapMouseEvent): void {
    if (this.sketch?.tool !== "box" || this.sketch.corners.length === 0) return;
    const area = areaOf(lngLat ? moveTo(this.sketch, [lngLat.lng, lngLat.lat]) : this.sketch);
    this.begin(null);
    if (area) this.use(area);
  }

  private finish(event?: MapMouseEvent): void {
    if (this.sketch?.tool !== "polygon") return;
    event?.preventDefault();
    const area = areaOf(this.sketch);
    if (!area) return this.panel.say(t("An area needs at least three corners."));
    this.begin(null);
    this.use(area);
  }

  private key(event: KeyboardEvent): void {
    if (!this.sketch) return;
    if (event.key === "Escape") this.begin(null);
    else if (event.key === "Enter" && this.sketch.tool === "polygon" && this.sketch.corners.length) {
      event.preventDefault();
      this.finish();
    }
  }

  private clear(): void {
    this.questions++;
    this.areas = {};
    this.hideAnswer();
    this.panel.startOver();
    this.panel.offerClearing(false);
    this.begin(null);
    this.changed({});
    this.asked({});
  }

  private use(drawn: AreaShape): void {
    const corners = linkCorners(drawn);
    // The server is asked about exactly what the link holds, to the last digit.
    const area = corners ? fromCorners(roundCorners(corners)) : drawn;
    this.areas = { ...this.areas, [this.panel.end]: area };
    this.panel.goOn();
    this.asked(this.areas);
    void this.count();
  }

  private async count(): Promise<void> {
    const { areas } = this;
    const question = ++this.questions;
    this.panel.offerClearing(true);
    this.draw();
    const linked = ENDS.flatMap((end) => {
      const corners = areas[end] && linkCorners(areas[end]);
      return corners ? [[end, corners] as const] : [];
    });
    this.changed(Object.fromEntries(linked));
    this.panel.say(t("Counting\u2026"));
    try {
      const answer = await askArea(this.panel.queryAddress, this.panel.token, areas, this.slice);
      if (question !== this.questions) return;
      this.panel.showAnswer(answer, areas, linked.length === Object.keys(areas).length);
      this.overlay.showAnswer(answer, areas);
      this.draw();
    } catch (error) {
      if (question !== this.questions) return;
      this.hideAnswer();
      this.panel.say(messageOf(error));
    }
  }

  private hideAnswer(): void {
    this.overlay.hideAnswer();
    this.panel.hideAnswer();
  }

  private draw(): void {
    this.overlay.draw(this.sketch && outlineOf(this.sketch), this.areas);
  }
}
