// Entry of the page of a series: its map, its time line, and what follows them.
import { knowsWebGL } from "../canvas/webgl";
import { openSeries } from "../data/series-array";
import { showNotice } from "../map/notice";
import { need } from "../ui/dom";
import { messageOf } from "../ui/errors";
import { PeriodLayers } from "./period-layers";
import { SeriesPage } from "./page";

async function start(frame: HTMLElement): Promise<void> {
  const library = knowsWebGL() ? import("../map/map").catch(() => null) : null;
  const opened = await openSeries(frame.dataset.series!, frame.dataset.basemap!, frame.dataset.files!);
  const page = new SeriesPage(frame, opened, await PeriodLayers.load(opened));
  await page.open(library);
  frame.dataset.state ??= "drawn";
}

const frame = document.querySelector<HTMLElement>("#map[data-series]");
if (frame) {
  start(frame).catch((error: unknown) => {
    need<HTMLElement>(frame, ".map-loading").hidden = true;
    showNotice(frame, messageOf(error));
  });
}
