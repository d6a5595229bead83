/** Opens the map of a release page while its library loads. */
import { knowsWebGL } from "../canvas/webgl";
import { fetchGround, openRelease } from "../data/open-release";
import { readScaling, scaleOpening, scaleRelease, type Scaling } from "../data/scaled";
import { EarlyMap } from "../map/early-map";
import type { MovablePicture } from "../map/movable-picture";
import { pause } from "../ui/pause";
import { Page } from "./page";
import { parseLink } from "./permalink";

export async function open(frame: HTMLElement, picture: MovablePicture | null): Promise<void> {
  const library = knowsWebGL() ? import("../map/map").catch(() => null) : null;
  const ground = fetchGround(frame.dataset.basemap!);
  const early = picture && new EarlyMap(frame, picture);
  if (early) {
    void early.show(library ?? Promise.resolve(null), ground);
    // A phone's connection is narrow: first the library, which takes long to begin, then the data.
    await library;
  }
  const opened = await openRelease(frame.dataset.array!, ground);
  await pause();
  const link = parseLink(location.hash);
  const scaling = link.figures === "scaled" ? readScaling() : null;
  if (scaling) showScaled(frame, scaling);
  const shown = scaling ? scaleRelease(opened, scaling) : opened;
  const page = new Page(frame, shown, scaling ? { ...link, compare: null } : { ...link, figures: "counted" }, early);
  await page.open(library);
  frame.dataset.state ??= "drawn";
}

/** Fits the page to scaled counts, which are not compared with another map's bounded ones. */
function showScaled(frame: HTMLElement, scaling: Scaling): void {
  frame.dataset.opens = scaleOpening(frame.dataset.opens || "{}", scaling);
  for (const part of document.querySelectorAll("#compare, [for=compare]")) part.remove();
}
