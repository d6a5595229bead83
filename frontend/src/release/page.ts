/** The release page: what is shown and how, and everything on the page that follows it. */
import { onThemeChange, readPalette } from "../colour/ramps";
import type { OpenRelease } from "../data/open-release";
import { groundPerPixel, placeOf, type View } from "../geometry/place";
import { CHOSEN } from "../map/hover";
import type { EarlyMap } from "../map/early-map";
import type { DrawnMap } from "../map/map";
import { showNotice } from "../map/notice";
import { type Note, NotePins, notesOn, readNotes } from "../map/notes";
import { drawAhead, InteractiveStage, type MapModule, openingView, type Stage, StillStage } from "../map/stage";
import { need } from "../ui/dom";
import { messageOf } from "../ui/errors";
import { pause, shown } from "../ui/pause";
import { t } from "../ui/translate";
import type { AreaTool } from "./area-tool";
import type { Comparison, Other } from "./compare";
import { FlowPanel } from "./flow-panel";
import { drawKeepsake, imprintOf } from "./keepsake";
import { installOptions, limitOptions } from "./options";
import { formatLink, type Link } from "./permalink";
import { installSharing } from "./share";
import { installMultiples, sliceControls } from "./slices";
import { sharedStyle, type StyledLayer, StyledLayers } from "./styled-layers";
import { describe } from "./words";

export class Page {
  private readonly layers: StyledLayers;
  private shown!: StyledLayer;
  private stage: Stage | null = null;
  private map: DrawnMap | null = null;
  private comparison: Comparison | null = null;
  private areas: AreaTool | null = null;
  private flows: FlowPanel | null = null;
  private readonly notes: readonly Note[];

  constructor(
    private readonly frame: HTMLElement,
    private readonly opened: OpenRelease,
    private link: Link,
    private readonly early: EarlyMap | null,
  ) {
    this.layers = new StyledLayers(frame, opened);
    this.notes = readNotes(frame);
  }

  /** `library` is the map library while it loads, null in it where it failed; null without WebGL. */
  async open(library: Promise<MapModule | null> | null): Promise<void> {
    const { frame, opened } = this;
    await this.restyle();
    await (this.early ? pause() : shown());
    const stage = this.early?.end() ?? null;
    if (library && !stage) await drawAhead(frame, opened, this.shown.layer, this.firstView());
    this.early?.clear();
    need<HTMLElement>(frame, ".map-loading").hidden = true;
    const standing = this.stand(library, stage);
    // What a reader chooses while the map library loads is applied once the map stands.
    const change = (part: Partial<Link>): void => void standing.then(() => this.change(part));
    installOptions(this.link, this.shown.layer, opened.scene.basemap.ground.length > 0, change);
    this.showFlows(change);
    sliceControls(this.layers.slices, this.shown.layer.name, (layer) => change({ layer }));
    installMultiples({
      slices: this.layers.slices,
      scene: opened.scene,
      palette: () => readPalette(frame),
      styled: async (layer) => (await this.layers.styled({ ...this.link, layer }, this.metresPerPixel())).layer,
    });
    await standing;
    this.pinNotes();
    installSharing(frame, () => this.picture());
    onThemeChange(() => change({}));
  }

  /** Puts up the map, or a still picture where there can be none. */
  private async stand(library: Promise<MapModule | null> | null, early: InteractiveStage | null): Promise<void> {
    const module = await library;
    await (early ? pause() : shown());
    const stage = early ?? (module && InteractiveStage.put(this.frame, this.opened, this.shown.layer, this.firstView(), module));
    if (stage) await this.showInteractive(stage, module!);
    else if (library && !module) this.showStill(t("Part of this page did not load, so the map is a still picture; reload the page to try again."));
    else this.showStill(t("This browser has no WebGL, so the map is a still picture. The table has its figures."));
  }

  /** Connects the panel of flows, where the page has one, with what is chosen on the map. */
  private showFlows(change: (part: Partial<Link>) => void): void {
    const panel = document.querySelector<HTMLElement>("#flows");
    if (!panel) return;
    this.flows = new FlowPanel(panel, () => change({}));
    this.flows.show(this.shown.layer);
    this.frame.addEventListener(CHOSEN, () => change({}));
  }

  private async showInteractive(stage: InteractiveStage, module: MapModule): Promise<void> {
    stage.take(this.opened, this.shown.layer, {
      moved: () => this.moved(),
      seenAt: (x) => this.comparison?.seenAt(x) ?? null,
    });
    this.stage = stage;
    this.map = stage.drawn;
    this.showGround();
    await this.offerComparison(stage, module);
    await this.offerAreas(stage);
  }

  private showStill(why: string): void {
    this.frame.querySelector(".ahead")?.remove();
    this.stage = new StillStage(this.frame, this.opened, this.shown.layer);
    showNotice(this.frame, why);
  }

  private pinNotes(): void {
    if (!this.notes.length) return;
    const pins = new NotePins(need(this.frame, ".sheet"), this.notes);
    const put = (): void => pins.put(this.stage!.place());
    put();
    if (this.map) for (const event of ["move", "resize"] as const) this.map.map.on(event, put);
    else addEventListener("resize", put);
  }

  /** Applies a choice of the reader. */
  private async change(change: Partial<Link>): Promise<void> {
    const otherFigures = (change.figures ?? this.link.figures) !== this.link.figures;
    this.link = { ...this.link, ...change };
    if (otherFigures) {
      // Every part of the page, its opening view included, is drawn anew from the other figures.
      this.remember({});
      return location.reload();
    }
    await this.restyle();
    const { layer } = this.shown;
    this.stage!.show(layer);
    this.flows?.show(layer);
    this.comparison?.restyle(sharedStyle(this.shown), readPalette(this.frame));
    this.showGround();
    limitOptions(layer);
    this.remember({});
    this.areas?.ask(this.layers.sliceName(layer));
  }

  private showGround(): void {
    for (const map of [this.map, this.comparison]) map?.showGround(this.link.ground === "streets");
  }

  /** After a move the layer may be another, where it follows the zoom. */
  private moved(): void {
    if (this.layers.nameFor(this.link, this.metresPerPixel()) === this.shown.layer.name) this.remember({});
    else void this.change({});
  }

  /** Width on the ground of a pixel in the middle of what is shown, or will be at first. */
  private metresPerPixel(): number {
    const { clientWidth: width, clientHeight: height } = need<HTMLElement>(this.frame, ".sheet");
    return groundPerPixel(this.stage?.place() ?? placeOf(this.firstView(), width, height));
  }

  private firstView(): View {
    return this.link.view ?? this.early?.view() ?? openingView(this.frame, this.opened.scene.bounds);
  }

  private async restyle(): Promise<void> {
    this.shown = await this.layers.styled(this.link, this.metresPerPixel());
    describe(this.frame, this.shown.layer);
  }

  /** Writes what is seen into the address. */
  private remember(change: Partial<Link>): void {
    const layer = this.layers.linkName(this.link.layer);
    this.link = { ...this.link, ...change, view: this.stage!.view(), layer };
    history.replaceState(null, "", formatLink(this.link) || location.pathname);
  }

  private async offerAreas(stage: InteractiveStage): Promise<void> {
    const panel = document.querySelector<HTMLElement>("#area");
    if (!panel) return;
    const { AreaTool } = await import("./area-tool");
    const sheet = need<HTMLElement>(this.frame, ".sheet");
    const tool = new AreaTool(panel, sheet, stage.map, stage.hover, (areas) => this.remember({ areas }));
    this.areas = tool;
    tool.ask(this.layers.sliceName(this.shown.layer));
    tool.restore(this.link.areas);
  }

  private async offerComparison(stage: InteractiveStage, module: MapModule): Promise<void> {
    const select = document.querySelector<HTMLSelectElement>("#compare");
    if (!select) return;
    const { Comparison } = await import("./compare");
    const names = {
      left: need<HTMLElement>(this.frame, "[data-side=left]"),
      right: need<HTMLElement>(this.frame, "[data-side=right]"),
    };
    const sheet = need<HTMLElement>(this.frame, ".sheet");
    this.comparison = new Comparison(sheet, stage.drawn, module, names, this.link.divider, (divider) =>
      this.remember({ divider }),
    );
    const known = [...select.options].some(({ value }) => value === this.link.compare);
    select.value = known ? this.link.compare! : "";
    if (!known) this.link = { ...this.link, compare: null };
    select.addEventListener("change", () => void this.compare(select));
    if (known) await this.compare(select);
  }

  private async compare(select: HTMLSelectElement): Promise<void> {
    const comparison = this.comparison!;
    const option = select.selectedOptions[0]!;
    const { array, basemap, looks, opens } = option.dataset;
    this.remember({ compare: select.value || null });
    if (!array || !basemap || !looks || !opens) return comparison.close();
    const other: Other = { id: select.value, title: option.text, array, basemap, looks, opens };
    await comparison.open(other, sharedStyle(this.shown), readPalette(this.frame)).catch((error: unknown) => {
      comparison.close();
      showNotice(this.frame, messageOf(error));
    });
  }

  private picture(): HTMLCanvasElement {
    const { frame, map } = this;
    const { scene } = this.opened;
    const drawn = map?.picture() ?? null;
    const place = this.stage!.place();
    const notes = { title: frame.dataset.noted ?? "", notes: notesOn(place, this.notes) };
    const seen = { drawn, areas: this.areas?.seen ?? [], beside: this.comparison?.seen ?? null, notes };
    const imprint = imprintOf(frame, scene, drawn !== null);
    return drawKeepsake(scene, this.shown.layer, readPalette(frame), place, imprint, seen);
  }
}
