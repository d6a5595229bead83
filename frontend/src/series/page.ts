/** The page of a series: which period its map shows, and everything that follows it. */
import { onThemeChange, type Palette, readPalette } from "../colour/ramps";
import { type OpenSeries, periodBefore, yearBefore } from "../data/series-array";
import type { Corners, Ends } from "../geometry/area-shape";
import type { Flows } from "../layers/flows/flows";
import type { MapLayer } from "../layers/map-layer";
import { drawAhead, InteractiveStage, type MapModule, openingView, type Stage, StillStage } from "../map/stage";
import { showNotice } from "../map/notice";
import { AreaTool } from "../release/area-tool";
import { Comparison } from "../release/compare";
import { describe } from "../release/words";
import { choices } from "../ui/controls";
import { need } from "../ui/dom";
import { pause } from "../ui/pause";
import { t } from "../ui/translate";
import { type Counted, formatSeriesLink, parseSeriesLink, type SeriesLink, type Shows } from "./link";
import type { PeriodLayers } from "./period-layers";
import { placeName } from "./place-name";
import { Profile } from "./profile";
import { Timeline } from "./timeline";
import { daysOf, listChanges, tell } from "./words";

export class SeriesPage {
  private link: SeriesLink = parseSeriesLink(location.hash);
  private at: number;
  private readonly timeline: Timeline;
  private readonly profile: Profile;
  private readonly select = document.querySelector<HTMLSelectElement>("#beside");
  private layer!: MapLayer;
  private stage: Stage | null = null;
  private comparison: Comparison | null = null;
  private areas: AreaTool | null = null;
  /** Whether the map can show another layer yet; it does so once its ground is there. */
  private standing = false;

  constructor(
    private readonly frame: HTMLElement,
    private readonly opened: OpenSeries,
    private readonly layers: PeriodLayers,
  ) {
    const { periods } = opened.series;
    this.at = this.indexOf(this.link.day, periods.length - 1);
    this.timeline = new Timeline(need(document, "#timeline"), opened, {
      show: (at) => this.change({}, at),
      beside: (at) => this.change({ shows: "beside", beside: periods[at]!.from }),
    });
    this.profile = new Profile(need(document, "#course"), opened);
  }

  /** `library` is the map library while it loads, null in it where it failed; null without WebGL. */
  async open(library: Promise<MapModule | null> | null): Promise<void> {
    const { frame, opened } = this;
    this.restyle();
    const view = openingView(frame, opened.scene.bounds);
    if (library) await drawAhead(frame, opened, this.layer, view);
    need<HTMLElement>(frame, ".map-loading").hidden = true;
    this.installChoices();
    this.tell();
    if (this.link.place !== null) this.showPlace(this.link.place);
    const module = await library;
    await pause();
    const stage = module && InteractiveStage.put(frame, opened, this.layer, view, module);
    if (stage) {
      stage.take(opened, this.layer, { moved: () => {}, seenAt: (x) => this.comparison?.seenAt(x) ?? null });
      this.stage = stage;
      const sheet = need<HTMLElement>(frame, ".sheet");
      const side = (name: string): HTMLElement => need(frame, `[data-side=${name}]`);
      const names = { left: side("left"), right: side("right") };
      this.comparison = new Comparison(sheet, stage.drawn, module, names, 50, () => {});
      const panel = document.querySelector<HTMLElement>("#area");
      const asked = ({ area }: { area?: Parameters<Profile["ofArea"]>[0] }): void => void this.profile.ofArea(area);
      if (panel) {
        const changed = ({ area }: Ends<Corners>): void => this.remember({ area: area ?? null, ...(area ? { place: null } : {}) });
        this.areas = new AreaTool(panel, sheet, stage.map, stage.hover, changed, asked);
        if (this.link.area) this.areas.restore({ area: this.link.area });
      }
      stage.map.on("style.load", () => {
        this.standing = true;
        this.show();
      });
    } else {
      frame.querySelector(".ahead")?.remove();
      this.stage = new StillStage(frame, opened, this.layer);
      this.standing = true;
      showNotice(frame, t("This browser has no WebGL, so the map is a still picture. The table has its figures."));
    }
    onThemeChange(() => this.change({}));
  }

  private change(part: Partial<SeriesLink>, at = this.at): void {
    const { periods } = this.opened.series;
    const moved = at !== this.at;
    this.at = at;
    this.remember({ ...part, day: at === periods.length - 1 ? "" : periods[at]!.from });
    this.restyle();
    this.tell();
    this.show();
    if (moved) this.areas?.askAgain();
  }

  private remember(part: Partial<SeriesLink>): void {
    this.link = { ...this.link, ...part };
    history.replaceState(null, "", formatSeriesLink(this.link) || location.pathname);
  }

  /** The period that the one shown is compared with, -1 for none. */
  private get before(): number {
    const { shows, beside } = this.link;
    const { series } = this.opened;
    if (shows === "year") return yearBefore(series, this.at);
    const earlier = periodBefore(series, this.at, 1);
    return shows === "beside" ? this.indexOf(beside, earlier < 0 ? this.at : earlier) : earlier;
  }

  private indexOf(day: string, otherwise: number): number {
    const found = this.opened.series.periods.findIndex(({ from }) => from === day);
    return found < 0 ? otherwise : found;
  }

  /** Makes the layer of what is chosen; a change that there is none of shows the period itself. */
  private restyle(): void {
    const { shows, smooth, counted } = this.link;
    const { before } = this;
    const changes = (shows === "change" || shows === "year") && before >= 0;
    this.frame.dataset.ramp = changes ? "drift" : "tide";
    const palette = readPalette(this.frame);
    this.layer = changes
      ? this.layers.change(this.at, before, daysOf(this.opened.series.periods[before]!), counted, palette)
      : this.layers.period(this.at, smooth, counted, palette);
    this.layer.choose = (position) => this.choose(this.layer, position);
    describe(this.frame, this.layer);
  }

  private show(): void {
    const { stage, comparison, link, opened } = this;
    if (!this.standing) return;
    stage?.show(this.layer);
    if (!comparison) return;
    if (link.shows !== "beside") return comparison.close();
    const palette: Palette = readPalette(this.frame);
    const { periods } = opened.series;
    const other = this.layers.period(this.before, link.smooth, link.counted, palette);
    need(this.frame, "[data-side=left]").textContent = daysOf(periods[this.at]!);
    comparison.openLayer(opened, other, palette, daysOf(periods[this.before]!));
  }

  /** Says in words what the map shows. */
  private tell(): void {
    const { opened, at, before, link } = this;
    const { periods } = opened.series;
    this.timeline.mark(at, link.shows === "period" ? -1 : before);
    this.profile.mark(at);
    tell(need(document, "#period"), opened, at, before);
    const table = this.layers.tableOf(link.counted);
    listChanges(need(document, "#changes"), opened, table, at, before, (region) => this.changeName(region));
    for (const shows of ["change", "year"] as const) {
      const there = shows === "change" ? periodBefore(opened.series, at, 1) : yearBefore(opened.series, at);
      need<HTMLButtonElement>(document, `#shows [data-value=${shows}]`).disabled = there < 0;
    }
    for (const part of document.querySelectorAll<HTMLElement>("[data-with]")) {
      part.hidden = !part.dataset.with!.split(" ").includes(link.shows);
    }
    if (!table.smoothed) need<HTMLElement>(document, "#smooth").hidden = true;
    if (this.select && before >= 0) this.select.value = periods[before]!.from;
    const { release } = periods[at]!;
    const panel = document.querySelector<HTMLElement>("#area");
    if (panel) panel.dataset.query = ofRelease(panel.dataset.query!, release);
    const own = need<HTMLAnchorElement>(document, "#own-page");
    own.href = ofRelease(own.href, release);
  }

  private installChoices(): void {
    const { periods } = this.opened.series;
    need<HTMLElement>(document, "#series-shows").hidden = periods.length < 2;
    choices(need(document, "#shows"), this.link.shows, (shows) => this.change({ shows: shows as Shows }));
    choices(need(document, "#smooth"), String(this.link.smooth), (smooth) => this.change({ smooth: smooth === "true" }));
    const counted = document.querySelector<HTMLElement>("#counted");
    if (counted) choices(counted, this.link.counted, (chosen) => this.change({ counted: chosen as Counted, place: null }));
    if (!this.select) return;
    this.select.replaceChildren(...periods.map((period) => new Option(daysOf(period), period.from)));
    this.select.addEventListener("change", () => this.change({ beside: this.select!.value }));
  }

  private choose(layer: MapLayer, position: Parameters<MapLayer["at"]>[0]): boolean {
    const spot = layer.at(position, this.stage?.place().perPixel ?? 0);
    if (!spot?.key) return false;
    const { flows } = this.layers;
    const region = "flows" in layer ? (layer as Flows).flows.regions.findIndex(({ key }) => key === spot.key) : Number(spot.key);
    if (this.link.counted === "flows" && flows) {
      flows.take(region);
      this.change({});
    }
    this.remember({ place: region });
    this.showPlace(region);
    return true;
  }

  /** Shows a region over time: of flows, its arrivals or its departures. */
  private showPlace(region: number): void {
    const { flows } = this.layers;
    const { counted } = this.link;
    const table = this.layers.tableOf(counted === "flows" ? (flows?.direction ?? "arrivals") : counted);
    if (region < table.regions) this.profile.ofRegion(table, region, this.nameOf(region));
  }

  /** The name of a change's region, or of the two of a flow. */
  private changeName(region: number): string {
    const { pairs } = this.opened.series;
    if (this.link.counted !== "flows" || !pairs) return this.nameOf(region);
    const [from, to] = [pairs.origin, pairs.destination].map((end) => this.layers.nameOf(end[region]!));
    return t("{from} to {to}", { from: from!, to: to! });
  }

  private nameOf(region: number): string {
    return this.layers.nameOf(region) || placeName(this.opened, region);
  }
}

/** The same address for another release. */
function ofRelease(address: string, release: string): string {
  return address.replace(/(\/(?:releases|maps)\/)[^/]+/, `$1${release}`);
}
