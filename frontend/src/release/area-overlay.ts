/** The area on the map: its outline, and a label with its count. */
import type { LineString } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { pathData } from "../canvas/paths";
import type { AreaShape, Corners } from "../geometry/area-shape";
import { centreOf } from "../geometry/shapes";
import { element, need } from "../ui/dom";
import { t } from "../ui/translate";
import { figureOf } from "./area-panel";
import type { Counted } from "./ask-area";

export class AreaOverlay {
  private readonly outline = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private readonly label = element("div", "flag yours");

  constructor(sheet: HTMLElement, private readonly map: MapLibre) {
    this.outline.classList.add("area-overlay");
    this.outline.setAttribute("aria-hidden", "true");
    this.label.hidden = true;
    this.label.setAttribute("aria-hidden", "true");
    need(sheet, ".neatline").before(this.outline, this.label);
  }

  showAnswer(answer: Counted): void {
    const figure = element("span", "note", "");
    figure.append(...figureOf(answer));
    this.label.replaceChildren(element("b", "", t("Your area")), figure);
    this.label.hidden = false;
  }

  /** The answer in words, "" while there is none. */
  get answer(): string {
    return this.label.hidden ? "" : (need(this.label, ".note").textContent ?? "");
  }

  hideAnswer(): void {
    this.label.hidden = true;
  }

  /** Draws the corners of an area that is being drawn, else the area; the label stays on the area. */
  draw(sketch: Corners | null, area: AreaShape | null): void {
    const line: LineString | null = sketch && { type: "LineString", coordinates: sketch };
    const shape = line ?? area;
    if (!shape || sketch?.length === 0) {
      this.outline.replaceChildren();
      return;
    }
    const path = pathData(shape, (longitude, latitude) => this.map.project([longitude, latitude]));
    this.outline.innerHTML = `<path class="casing" d="${path}"/><path class="line" d="${path}"/>`;
    if (!area || this.label.hidden) return;
    const { longitude, latitude } = centreOf(area);
    const { x, y } = this.map.project([longitude, latitude]);
    this.label.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -50%)`;
  }
}
