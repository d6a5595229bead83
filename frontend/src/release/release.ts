// Entry of the release page: opens the map while its library loads.
import "maplibre-gl/dist/maplibre-gl.css";
import { hasWebGL } from "../canvas/webgl";
import { openRelease } from "../data/open-release";
import { readScaling, scaleOpening, scaleRelease, type Scaling } from "../data/scaled";
import { showNotice } from "../map/notice";
import { showPicture } from "../map/stage";
import { element, need } from "../ui/dom";
import { messageOf } from "../ui/errors";
import { t } from "../ui/translate";
import { Page } from "./page";
import { parseLink } from "./permalink";

async function start(frame: HTMLElement): Promise<void> {
  showPicture(frame);
  // The map library loads beside the data; without WebGL it is not fetched at all.
  const library = hasWebGL() ? import("../map/map").catch(() => null) : null;
  const opened = await openRelease(frame.dataset.array!, frame.dataset.basemap!);
  const link = parseLink(location.hash);
  const scaling = link.figures === "scaled" ? readScaling() : null;
  if (scaling) showScaled(frame, scaling);
  const shown = scaling ? scaleRelease(opened, scaling) : opened;
  await new Page(frame, shown, scaling ? { ...link, compare: null } : { ...link, figures: "counted" }).open(library);
  frame.dataset.state ??= "drawn";
}

/** Fits the page to scaled counts, which are not compared with another map's bounded ones. */
function showScaled(frame: HTMLElement, scaling: Scaling): void {
  frame.dataset.opens = scaleOpening(frame.dataset.opens || "{}", scaling);
  for (const part of document.querySelectorAll("#compare, [for=compare]")) part.remove();
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
