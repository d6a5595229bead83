// The release page: the map island.
import "maplibre-gl/dist/maplibre-gl.css";
import type { Scale } from "../colour/classes";
import { onThemeChange, type RampName, readPalette } from "../colour/ramps";
import { type OpenRelease, openRelease } from "../data/open-release";
import type { BoxLayer } from "../data/release-array";
import type { Basis, MapLayer, Show, Style } from "../layers/map-layer";
import { loadLayer } from "../layers/registry";
import { drawLegend, type Facts } from "../map/legend";
import { drawAhead, InteractiveStage, type Stage, StillStage } from "../map/stage";
import { choices, slider } from "../ui/controls";
import { element, need } from "../ui/dom";
import { t } from "../ui/translate";
import type { AreaTool } from "./area-tool";
import type { Comparison, Other } from "./compare";
import { formatLink, type Link, parseLink } from "./permalink";
import { drawKeepsake } from "./picture";
import { installSharing } from "./share";
import { busiest, slicesOf, timeSlider } from "./slices";

async function start(frame: HTMLElement): Promise<void> {
  // The map library comes while the data come; where there is no WebGL it is never asked for.
  const library = canWebGL() ? import("../map/map").catch(() => null) : null;
  const opened = await openRelease(frame.dataset.array!, frame.dataset.basemap!);
  const page = new Page(frame, opened, parseLink(location.hash));
  await page.open(library);
  frame.dataset.state ??= "drawn";
}

/** What is shown and how, and everything on the page that follows it. */
class Page {
  private readonly facts: Facts;
  private readonly layers = new Map<string, MapLayer>();
  private readonly slices: BoxLayer[];
  private readonly busiest: BoxLayer | null;
  private layer!: MapLayer;
  private style!: Style;
  private stage!: Stage;
  private comparison: Comparison | null = null;
  private areas: AreaTool | null = null;

  constructor(
    private readonly frame: HTMLElement,
    private readonly opened: OpenRelease,
    private link: Link,
  ) {
    this.facts = { epsilon: frame.dataset.epsilon ?? "", date: frame.dataset.date ?? "" };
    this.slices = slicesOf(opened.release);
    this.busiest = busiest(this.slices);
  }

  async open(library: Promise<typeof import("../map/map") | null> | null): Promise<void> {
    const { frame, opened } = this;
    await this.restyle();
    if (library) drawAhead(frame, opened, this.layer, this.link.view);
    need<HTMLElement>(frame, ".map-loading").hidden = true;
    const module = await library;
    if (module) await this.stand(module);
    else if (library) this.standStill(t("Part of this page did not load, so the map stands still; reload the page to try again."));
    else this.standStill(t("This browser has no WebGL, so the map stands still. The table holds its figures."));
    this.offerChoices();
    const panel = document.querySelector<HTMLElement>("#share");
    if (panel) installSharing(panel, frame, () => this.picture());
    onThemeChange(() => void this.change({}));
  }

  private async stand(module: typeof import("../map/map")): Promise<void> {
    const hooks = {
      moved: () => this.remember(),
      seenAt: (x: number) => this.comparison?.seenAt(x) ?? null,
    };
    const stage = new InteractiveStage(this.frame, this.opened, this.layer, this.link.view, module, hooks);
    this.stage = stage;
    await this.offerComparison(stage, module);
    await this.offerAreas(stage);
  }

  private standStill(why: string): void {
    this.frame.querySelector(".ahead")?.remove();
    this.stage = new StillStage(this.frame, this.opened, this.layer);
    say(this.frame, why);
  }

  /** Applies a choice of the reader. */
  async change(change: Partial<Link>): Promise<void> {
    this.link = { ...this.link, ...change };
    await this.restyle();
    this.stage.show(this.layer);
    this.comparison?.restyle(this.sharedStyle(), readPalette(this.frame));
    this.limitChoices();
    this.remember();
    this.areas?.ask(this.slice());
  }

  /** The slice of time that is shown, by name; "" where there are none. */
  private slice(): string {
    const { name } = this.layer;
    return this.slices.some((slice) => slice.name === name) ? name : "";
  }

  private async restyle(): Promise<void> {
    const { frame, link } = this;
    frame.dataset.ramp = link.ramp;
    const layer = await this.find(link.layer);
    const show = layer.shows.includes(link.show) ? link.show : layer.shows[0]!;
    this.style = { show, scale: link.scale, opacity: link.opacity / 100 };
    const basis = await this.basisOfSlices(this.style);
    if (basis) this.style.basis = basis;
    layer.restyle(this.style, readPalette(frame));
    drawLegend(need(frame, ".legend"), layer.legend(), this.facts);
    this.layer = layer;
  }

  private async basisOfSlices(style: Style): Promise<Basis | null> {
    if (!this.busiest) return null;
    const layer = await this.find(this.busiest.name);
    layer.restyle(style, readPalette(this.frame));
    return layer.basis?.() ?? null;
  }

  private async find(name: string | null): Promise<MapLayer> {
    const { release, scene } = this.opened;
    const data = release.layers.find((each) => each.name === name) ?? release.layers[0]!;
    const known = this.layers.get(data.name);
    if (known) return known;
    const looks = JSON.parse(this.frame.dataset.looks ?? "{}") as Record<string, string>;
    const layer = await loadLayer(data, release, scene, looks);
    this.layers.set(data.name, layer);
    return layer;
  }

  /** A link names the layer only where it is not the first. */
  private remember(): void {
    const first = this.opened.release.layers[0]!.name;
    const layer = this.layer.name === first ? null : this.layer.name;
    this.link = { ...this.link, view: this.stage.view(), layer };
    history.replaceState(null, "", formatLink(this.link) || location.pathname);
  }

  private offerChoices(): void {
    const options = document.querySelector<HTMLElement>("#map-options");
    if (!options) return;
    options.hidden = false;
    const offer = (name: string, chosen: string, choose: (value: string) => Partial<Link>): void => {
      const control = options.querySelector<HTMLElement>(`[data-choose=${name}]`);
      if (control) choices(control, chosen, (value) => void this.change(choose(value)));
    };
    offer("show", this.link.show, (show) => ({ show: show as Show }));
    offer("layer", this.layer.name, (name) => ({ layer: name }));
    timeSlider(this.slices, this.layer.name, (layer) => void this.change({ layer }));
    offer("ramp", this.link.ramp, (ramp) => ({ ramp: ramp as RampName }));
    offer("scale", this.link.scale, (scale) => ({ scale: scale as Scale }));
    slider(need(options, "#opacity"), this.link.opacity, (opacity) => void this.change({ opacity }));
    this.limitChoices();
  }

  /** Leaves out what the layer has no choice in. */
  private limitChoices(): void {
    const { shows, scales } = this.layer;
    const offered: Record<string, boolean> = { show: shows.length > 1, scale: scales };
    for (const part of document.querySelectorAll<HTMLElement>("#map-options [data-only]")) {
      part.hidden = !offered[part.dataset.only!];
    }
  }

  private async offerAreas(stage: InteractiveStage): Promise<void> {
    const panel = document.querySelector<HTMLElement>("#area");
    if (!panel) return;
    const { AreaTool } = await import("./area-tool");
    const sheet = need<HTMLElement>(this.frame, ".sheet");
    const { counting } = this.opened.release;
    const tool = new AreaTool(panel, sheet, stage.map, stage.hover, counting, (corners) => {
      this.link = { ...this.link, corners };
      this.remember();
    });
    this.areas = tool;
    tool.ask(this.slice());
    if (this.link.corners) tool.restore(this.link.corners);
  }

  private async offerComparison(stage: InteractiveStage, module: typeof import("../map/map")): Promise<void> {
    const select = document.querySelector<HTMLSelectElement>("#compare");
    if (!select) return;
    const { Comparison } = await import("./compare");
    const names = {
      left: need<HTMLElement>(this.frame, "[data-side=left]"),
      right: need<HTMLElement>(this.frame, "[data-side=right]"),
    };
    const sheet = need<HTMLElement>(this.frame, ".sheet");
    this.comparison = new Comparison(sheet, stage.drawn, module, names, this.link.divider, (divider) => {
      this.link = { ...this.link, divider };
      this.remember();
    });
    const known = [...select.options].some(({ value }) => value === this.link.compare);
    select.value = known ? this.link.compare! : "";
    if (!known) this.link = { ...this.link, compare: null };
    select.addEventListener("change", () => void this.compare(select));
    if (known) await this.compare(select);
  }

  private async compare(select: HTMLSelectElement): Promise<void> {
    const option = select.selectedOptions[0]!;
    const { array, basemap, looks } = option.dataset;
    this.link = { ...this.link, compare: select.value || null };
    this.remember();
    if (!array || !basemap || !looks) return this.comparison!.close();
    const other: Other = { id: select.value, title: option.text, array, basemap, looks };
    await this.comparison!.open(other, this.sharedStyle(), readPalette(this.frame)).catch((error: unknown) => {
      this.comparison!.close();
      say(this.frame, messageOf(error));
    });
  }

  /** The other release is drawn with the same classes, or its colours would say something else. */
  private sharedStyle(): Style {
    const basis = this.layer.basis?.();
    return basis ? { ...this.style, basis } : this.style;
  }

  private picture(): HTMLCanvasElement {
    const { dataset } = this.frame;
    const lines = JSON.parse(dataset.imprint ?? "[]") as string[];
    const imprint = { title: dataset.title ?? "", lines };
    return drawKeepsake(this.opened.scene, this.layer, readPalette(this.frame), this.stage.place(), imprint);
  }
}

function canWebGL(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

function say(frame: HTMLElement, message: string): void {
  const notice = frame.querySelector<HTMLElement>(".map-notice");
  if (!notice) return;
  notice.textContent = message;
  notice.hidden = false;
}

/** What went wrong, with a way on: to try again, or to take the picture the server keeps. */
function fail(frame: HTMLElement, error: unknown): void {
  need<HTMLElement>(frame, ".map-loading").hidden = true;
  say(frame, messageOf(error));
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Last, for nothing above exists before it is reached.
const frame = document.querySelector<HTMLElement>("#map");
if (frame) start(frame).catch((error: unknown) => fail(frame, error));
