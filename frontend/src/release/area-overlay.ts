/** The areas on the map: their outlines, and labels, one of which has the count. */
import type { LineString } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { pathData } from "../canvas/paths";
import { type AreaShape, type Corners, type End, type Ends, ENDS } from "../geometry/area-shape";
import { centreOf } from "../geometry/shapes";
import { element, need } from "../ui/dom";
import { t } from "../ui/translate";
import { figureOf } from "./area-panel";
import type { Counted } from "./ask-area";
import type { SeenArea } from "./keepsake";

export class AreaOverlay {
  private readonly outline = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  private readonly labels: Record<End, HTMLElement>;

  constructor(sheet: HTMLElement, private readonly map: MapLibre) {
    this.outline.classList.add("area-overlay");
    this.outline.setAttribute("aria-hidden", "true");
    const label = (words: string): HTMLElement => {
      const flag = element("div", "flag yours", element("b", "", words), element("span", "note", ""));
      flag.hidden = true;
      flag.setAttribute("aria-hidden", "true");
      return flag;
    };
    this.labels = { area: label(t("Your area")), from: label(t("From")), to: label(t("To")) };
    need(sheet, ".neatline").before(this.outline, ...Object.values(this.labels));
  }

  /** Writes the answer to a label: of trips, to that of where they end, if that is given. */
  showAnswer(answer: Counted, areas: Ends<AreaShape>): void {
    this.hideAnswer();
    for (const end of ENDS) this.labels[end].hidden = !areas[end];
    const last = ENDS.filter((end) => areas[end]).at(-1)!;
    need(this.labels[last], ".note").append(...figureOf(answer));
  }

  hideAnswer(): void {
    for (const label of Object.values(this.labels)) {
      label.hidden = true;
      need(label, ".note").replaceChildren();
    }
  }

  /** The areas with what their labels say. */
  seen(areas: Ends<AreaShape>): SeenArea[] {
    return ENDS.flatMap((end) => {
      const shape = areas[end];
      const label = this.labels[end];
      const figure = need(label, ".note").textContent ?? "";
      const name = end === "area" || label.hidden ? [] : [need(label, "b").textContent ?? ""];
      return shape ? [{ shape, words: [...name, ...(figure ? [figure] : [])].join(": ") }] : [];
    });
  }

  /** Draws the corners of an area that is being drawn, and the areas; labels stay on their areas. */
  draw(sketch: Corners | null, areas: Ends<AreaShape>): void {
    const lines: (LineString | AreaShape)[] = Object.values(areas);
    if (sketch?.length) lines.push({ type: "LineString", coordinates: sketch });
    const project = (longitude: number, latitude: number) => this.map.project([longitude, latitude]);
    this.outline.innerHTML = lines
      .map((shape) => pathData(shape, project))
      .map((path) => `<path class="casing" d="${path}"/><path class="line" d="${path}"/>`)
      .join("");
    for (const end of ENDS) this.put(this.labels[end], areas[end]);
  }

  private put(label: HTMLElement, area: AreaShape | undefined): void {
    if (!area || label.hidden) return;
    const { longitude, latitude } = centreOf(area);
    const { x, y } = this.map.project([longitude, latitude]);
    label.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -50%)`;
  }
}
