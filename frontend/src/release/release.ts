// Entry of the release page: lets a phone's reader move the map's picture, and has the map opened.
import { MovablePicture } from "../map/movable-picture";
import { showNotice } from "../map/notice";
import { element, need } from "../ui/dom";
import { messageOf } from "../ui/errors";
import { t } from "../ui/translate";

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
if (frame) {
  const picture = MovablePicture.of(frame);
  import("./open").then(({ open }) => open(frame, picture)).catch((error: unknown) => fail(frame, error));
}
