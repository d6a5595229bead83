// Entry of the release page: opens the map while its library loads.
import "maplibre-gl/dist/maplibre-gl.css";
import { hasWebGL } from "../canvas/webgl";
import { openRelease } from "../data/open-release";
import { showNotice } from "../map/notice";
import { element, need } from "../ui/dom";
import { messageOf } from "../ui/errors";
import { t } from "../ui/translate";
import { Page } from "./page";
import { parseLink } from "./permalink";

async function start(frame: HTMLElement): Promise<void> {
  // The map library loads beside the data; without WebGL it is not fetched at all.
  const library = hasWebGL() ? import("../map/map").catch(() => null) : null;
  const opened = await openRelease(frame.dataset.array!, frame.dataset.basemap!);
  await new Page(frame, opened, parseLink(location.hash)).open(library);
  frame.dataset.state ??= "drawn";
}

/** Says what went wrong and what to do: try again, or take the picture that the server keeps. */
function fail(frame: HTMLElement, error: unknown): void {
  need<HTMLElement>(frame, ".map-loading").hidden = true;
  showNotice(frame, messageOf(error));
  const again = element("button", "btn", t("Try again"));
  again.type = "button";
  again.addEventListener("click", () => location.reload());
  const ways = element("span", "ways", again);
  const { picture } = frame.dataset;
  if (picture) {
    const link = element("a", "", t("See it as a picture"));
    link.href = picture;
    ways.append(link);
  }
  frame.querySelector(".map-notice")?.append(ways);
}

const frame = document.querySelector<HTMLElement>("#map");
if (frame) start(frame).catch((error: unknown) => fail(frame, error));
