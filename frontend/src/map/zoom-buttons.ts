/** Connects the zoom buttons on the map's edge, and shows the tools they stand among. */
import { need } from "../ui/dom";

export function installZoomButtons(frame: HTMLElement, map: { zoomIn(): unknown; zoomOut(): unknown }): void {
  const tools = need<HTMLElement>(frame, ".tools");
  need(tools, "[data-zoom=in]").addEventListener("click", () => map.zoomIn());
  need(tools, "[data-zoom=out]").addEventListener("click", () => map.zoomOut());
  tools.hidden = false;
}
