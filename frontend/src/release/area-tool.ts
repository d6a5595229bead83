/** Adding up an area: drawn on the map, typed, or brought in a file; the server answers. */
import type { Map as MapLibre, MapMouseEvent } from "maplibre-gl";
import { pathData } from "../canvas/paths";
import {
  type AreaShape,
  type Corners,
  fromBounds,
  fromCorners,
  linkCorners,
  MOST_BYTES,
  readBounds,
  readGeojson,
  roundCorners,
} from "../geometry/area-shape";
import { centreOf } from "../geometry/shapes";
import type { Hover } from "../map/hover";
import { element, need } from "../ui/dom";
import { formatMargin, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import { type AreaAnswer, askArea } from "./ask-area";

type Mode = "box" | "polygon" | null;

export class AreaTool {
  private readonly overlay = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private readonly label = element("div", "flag yours");
  private readonly status: HTMLElement;
  private mode: Mode = null;
  private corners: Corners = [];
  private pointer: [number, number] | null = null;
  private shape: AreaShape | null = null;
  private asked = 0;
  private slice = "";

  constructor(
    private readonly panel: HTMLElement,
    private readonly sheet: HTMLElement,
    private readonly map: MapLibre,
    private readonly hover: Hover,
    private readonly counting: string,
    private readonly changed: (corners: Corners | null) => void,
  ) {
    this.overlay.classList.add("area-overlay");
    this.overlay.setAttribute("aria-hidden", "true");
    this.label.hidden = true;
    this.label.setAttribute("aria-hidden", "true");
    need(sheet, ".neatline").before(this.overlay, this.label);
    this.status = need(panel, "[role=status]");
    panel.hidden = false;
    map.on("move", () => this.draw());
    map.on("mousedown", (event) => this.press(event));
    map.on("mousemove", (event) => this.track(event));
    map.on("mouseup", (event) => this.release(event));
    map.on("touchstart", (event) => this.press(event as unknown as MapMouseEvent));
    map.on("touchmove", (event) => this.track(event as unknown as MapMouseEvent));
    map.on("touchend", (event) => this.release(event as unknown as MapMouseEvent));
    map.on("click", (event) => this.corner(event));
    map.on("dblclick", (event) => this.finish(event));
    addEventListener("keydown", (event) => this.key(event));
    this.offer();
  }

  /** Takes an area from a link. */
  restore(corners: Corners): void {
    void this.use(fromCorners(corners));
  }

  /** Asks about this slice of time from now on, or about all. */
  ask(slice: string): void {
    if (slice === this.slice) return;
    this.slice = slice;
    if (this.shape) void this.use(this.shape);
  }

  private offer(): void {
    for (const button of this.panel.querySelectorAll<HTMLButtonElement>("[data-draw]")) {
      button.addEventListener("click", () => this.begin(button.dataset.draw as Mode));
    }
    need(this.panel, "[data-clear]").addEventListener("click", () => this.clear());
    const form = need<HTMLFormElement>(this.panel, "form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const texts = ["west", "south", "east", "north"].map((side) => String(new FormData(form).get(side)));
      this.attempt(() => fromBounds(readBounds(texts)));
    });
    const file = need<HTMLInputElement>(this.panel, "input[type=file]");
    file.addEventListener("change", () => void this.readFile(file));
  }

  private async readFile(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    input.value = "";
    if (file.size > MOST_BYTES) return this.say(t("This file is too large; outlines of up to 2 MB can be added up here."));
    const text = await file.text();
    this.attempt(() => readGeojson(text));
  }

  private attempt(read: () => AreaShape): void {
    try {
      void this.use(read());
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  private begin(mode: Mode): void {
    this.mode = this.mode === mode ? null : mode;
    this.corners = [];
    this.pointer = null;
    const drawing = this.mode !== null;
    this.hover.suspend(drawing);
    if (drawing) this.map.dragPan.disable();
    else this.map.dragPan.enable();
    this.sheet.classList.toggle("drawing", drawing);
    if (drawing) this.sheet.scrollIntoView({ block: "nearest" });
    this.map.doubleClickZoom[drawing ? "disable" : "enable"]();
    for (const button of this.panel.querySelectorAll<HTMLElement>("[data-draw]")) {
      button.setAttribute("aria-pressed", String(button.dataset.draw === this.mode));
    }
    if (this.mode === "box") this.say(t("Drag across the map from corner to corner. Escape stops."));
    if (this.mode === "polygon") this.say(t("Click each corner; click twice or press Enter at the last. Escape stops."));
    if (!drawing) this.say("");
    this.draw();
  }

  private press(event: MapMouseEvent): void {
    if (this.mode !== "box") return;
    event.preventDefault();
    this.corners = [at(event)];
    this.pointer = at(event);
  }

  private track(event: MapMouseEvent): void {
    if (!this.mode || this.corners.length === 0) return;
    this.pointer = at(event);
    this.draw();
  }

  private release(event: MapMouseEvent): void {
    if (this.mode !== "box" || !this.pointer || this.corners.length === 0) return;
    const [[x, y], [toX, toY]] = [this.corners[0]!, event.lngLat ? at(event) : this.pointer];
    this.begin(null);
    if (x === toX || y === toY) return;
    void this.use(fromBounds([Math.min(x, toX), Math.min(y, toY), Math.max(x, toX), Math.max(y, toY)]));
  }

  private corner(event: MapMouseEvent): void {
    if (this.mode !== "polygon") return;
    const corner = at(event);
    const last = this.corners.at(-1);
    if (last?.[0] === corner[0] && last[1] === corner[1]) return;
    this.corners.push(corner);
    this.draw();
  }

  private finish(event?: MapMouseEvent): void {
    if (this.mode !== "polygon") return;
    event?.preventDefault();
    const { corners } = this;
    if (corners.length < 3) return this.say(t("An area needs three corners at least."));
    this.begin(null);
    void this.use(fromCorners(corners));
  }

  private key(event: KeyboardEvent): void {
    if (!this.mode) return;
    if (event.key === "Escape") this.begin(null);
    if (event.key === "Enter" && this.mode === "polygon" && this.corners.length) {
      event.preventDefault();
      this.finish();
    }
  }

  private clear(): void {
    this.asked++;
    this.shape = null;
    this.begin(null);
    this.label.hidden = true;
    need<HTMLElement>(this.panel, ".answer").hidden = true;
    need<HTMLElement>(this.panel, "[data-clear]").hidden = true;
    this.draw();
    this.changed(null);
  }

  private async use(drawn: AreaShape): Promise<void> {
    const corners = linkCorners(drawn);
    // What the link holds is what is asked, to the last digit.
    const shape = corners ? fromCorners(roundCorners(corners)) : drawn;
    const asked = ++this.asked;
    this.shape = shape;
    need<HTMLElement>(this.panel, "[data-clear]").hidden = false;
    this.draw();
    this.changed(corners);
    this.say(t("Adding up\u2026"));
    try {
      const answer = await askArea(this.panel.dataset.query!, this.panel.dataset.token ?? "", shape, this.slice);
      if (asked === this.asked) this.show(answer, corners !== null);
    } catch (error) {
      if (asked !== this.asked) return;
      this.label.hidden = true;
      need<HTMLElement>(this.panel, ".answer").hidden = true;
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  private show({ estimate, margin, notes }: AreaAnswer, inLink: boolean): void {
    const figure = formatNumber(estimate);
    const answer = need<HTMLElement>(this.panel, ".answer");
    need(answer, ".total").replaceChildren(figure, " ", element("span", "pm", formatMargin(margin)));
    const words = t("{counting}, between {low} and {high} in 95 of 100 releases like this one.", {
      counting: t(this.counting === "people" ? "People" : "Visits"),
      low: formatNumber(estimate - margin),
      high: formatNumber(estimate + margin),
    });
    const remark = inLink ? [] : [t("This outline is too detailed for the link.")];
    need(answer, ".small").textContent = [words, ...notes, ...remark].join(" ");
    answer.hidden = false;
    this.label.replaceChildren(element("b", "", t("Your area")), element("span", "note", `${figure} ${formatMargin(margin)}`));
    this.label.hidden = false;
    this.say("");
    this.draw();
  }

  private draw(): void {
    const corners = this.mode ? this.sketch() : null;
    const shape = corners ? { type: "LineString" as const, coordinates: corners } : this.shape;
    if (!shape || (corners && corners.length === 0)) {
      this.overlay.replaceChildren();
      return;
    }
    const path = pathData(shape, (longitude, latitude) => this.map.project([longitude, latitude]));
    this.overlay.innerHTML = `<path class="casing" d="${path}"/><path class="line" d="${path}"/>`;
    if (!this.shape || this.label.hidden) return;
    const { longitude, latitude } = centreOf(this.shape);
    const { x, y } = this.map.project([longitude, latitude]);
    this.label.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -50%)`;
  }

  private sketch(): Corners {
    const { corners, pointer, mode } = this;
    if (!corners.length || !pointer) return corners;
    if (mode === "polygon") return [...corners, pointer];
    const [[x, y], [toX, toY]] = [corners[0]!, pointer];
    return [[x, y], [toX, y], [toX, toY], [x, toY], [x, y]];
  }

  private say(words: string): void {
    this.status.textContent = words;
  }
}

function at({ lngLat }: MapMouseEvent): [number, number] {
  return [lngLat.lng, lngLat.lat];
}
