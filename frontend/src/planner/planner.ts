// The planner: tasks on a published map, planned by the server each time a setting moves.
import "maplibre-gl/dist/maplibre-gl.css";
import { drawStaticMap } from "../canvas/static-map";
import { onThemeChange, readPalette } from "../colour/ramps";
import { type OpenRelease, openRelease } from "../data/open-release";
import { type MapLayer, PLAIN_STYLE } from "../layers/map-layer";
import { loadLayer } from "../layers/registry";
import { drawLegend } from "../map/legend";
import { choices } from "../ui/controls";
import { element, need } from "../ui/dom";
import { formatMetres, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import { Circles } from "./circles";
import {
  type Cast,
  type Plan,
  planCsv,
  planGeoJson,
  type Planned,
  type PlannedTask,
  Planner,
  Refused,
  type Settings,
} from "./plan";
import { formatPlanLink, MOST_LINKED, MOST_TASKS, parsePlanLink, readTasks, type Task } from "./tasks";

/** Milliseconds that a slider must rest before the server is asked. */
const REST = 120;
/** Rows of the table; more tasks are on the map and in the files. */
const MOST_ROWS = 200;
/** Growing regions takes the server long. */
const MOST_GEOCASTS = 100;
const PLACES = 6;

class Page {
  private tasks: Task[] = [];
  private plan: Plan | null = null;
  private chosen: number | null = null;
  private allocation = "optimised";
  private circles: Circles | null = null;
  private waiting = 0;
  private readonly planner: Planner;
  private readonly form = need<HTMLFormElement>(document, "#settings");

  constructor(private readonly main: HTMLElement, private readonly frame: HTMLElement) {
    this.planner = new Planner(main.dataset.plan!, main.dataset.release!);
  }

  async open(): Promise<void> {
    await this.restore();
    this.listen();
    this.changed();
    await this.openMap();
  }

  private async restore(): Promise<void> {
    const link = parsePlanLink(location.hash);
    this.tasks = link.tasks;
    this.fill(link.settings);
    const kept = this.main.dataset.campaign;
    if (!kept || link.tasks.length) return;
    const response = await fetch(kept);
    if (!response.ok) return;
    const campaign = (await response.json()) as { settings: Record<string, number | string>; tasks: Partial<Task>[] };
    const { target, worker_share: share, ...others } = campaign.settings;
    this.fill({
      ...Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
      target: String(Number(target) * 100),
      worker_share: String(Number(share) * 100),
    });
    this.tasks = campaign.tasks.map(({ name, longitude, latitude, reward }, index) => ({
      name: String(name ?? index + 1),
      longitude: longitude ?? null,
      latitude: latitude ?? null,
      reward: reward ?? null,
    }));
  }

  private fill(settings: Record<string, string>): void {
    for (const [name, value] of Object.entries(settings)) {
      if (name === "allocation" && ["optimised", "optimal"].includes(value)) this.allocation = value;
      const field = this.form.elements.namedItem(name);
      if (field instanceof HTMLInputElement) {
        // A reward may lie beyond where the slider ends.
        if (field.type === "range" && Number(value) > Number(field.max)) field.max = value;
        if (field.type === "checkbox") field.checked = true;
        else field.value = value;
      }
      if (field instanceof HTMLSelectElement && [...field.options].some((each) => each.value === value)) field.value = value;
    }
  }

  private listen(): void {
    this.form.addEventListener("input", () => this.changed());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    choices(need(this.form, "[data-choose=allocation]"), this.allocation, (value) => {
      this.allocation = value;
      this.changed();
    });
    const upload = need<HTMLInputElement>(document, "#upload");
    upload.addEventListener("change", () => void this.upload(upload));
    const add = need<HTMLFormElement>(document, "#add");
    add.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = new FormData(add);
      const text = (name: string): string => String(given.get(name) ?? "").trim();
      const reward = text("reward");
      this.add({
        name: text("name") || String(this.tasks.length + 1),
        longitude: Number(text("longitude")),
        latitude: Number(text("latitude")),
        reward: reward === "" ? null : Number(reward),
      });
      add.reset();
    });
    for (const button of document.querySelectorAll<HTMLButtonElement>("[data-take]")) {
      button.addEventListener("click", () => void this.take(button.dataset.take!));
    }
    const keep = document.querySelector<HTMLFormElement>("#keep");
    keep?.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.keep(keep);
    });
  }

  private async openMap(): Promise<void> {
    const { frame } = this;
    const opened = await openRelease(frame.dataset.array!, frame.dataset.basemap!);
    const { release, scene } = opened;
    const looks = JSON.parse(frame.dataset.looks ?? "{}") as Record<string, string>;
    const layers = release.layers;
    const data = layers.find(({ name }) => name === "bands") ?? layers.filter(({ shape }) => shape !== "shapes").pop()!;
    const layer = await loadLayer(data, release, scene, looks);
    const restyle = (): void => {
      layer.restyle(PLAIN_STYLE, readPalette(frame));
      drawLegend(need(frame, ".legend"), layer.legend(), {
        epsilon: frame.dataset.epsilon ?? "",
        date: frame.dataset.date ?? "",
      });
    };
    restyle();
    if (document.createElement("canvas").getContext("webgl2")) await this.interactive(opened, layer, restyle);
    else this.still(opened, layer);
  }

  private async interactive(opened: OpenRelease, layer: MapLayer, restyle: () => void): Promise<void> {
    const { frame } = this;
    const { DrawnMap, frameMap } = await import("../map/map");
    let palette = readPalette(frame);
    const drawn = new DrawnMap(need(frame, ".canvas"), opened, layer, palette, null);
    const { map } = drawn;
    map.getCanvas().setAttribute("aria-label", frame.dataset.label!);
    frameMap(map, need<HTMLCanvasElement>(frame, ".neatline"), () => palette);
    this.circles = new Circles(map, need(frame, ".circles"), () => palette);
    onThemeChange(() => {
      palette = readPalette(frame);
      restyle();
      drawn.recolour(palette);
      this.show();
    });
    const tools = need<HTMLElement>(frame, ".tools");
    need(tools, "[data-zoom=in]").addEventListener("click", () => map.zoomIn());
    need(tools, "[data-zoom=out]").addEventListener("click", () => map.zoomOut());
    const place = need<HTMLButtonElement>(tools, "[data-tool=place]");
    place.addEventListener("click", () => {
      place.setAttribute("aria-pressed", String(place.getAttribute("aria-pressed") !== "true"));
    });
    tools.hidden = false;
    map.on("click", ({ point, lngLat }) => {
      const hit = this.circles!.at(point.x, point.y);
      if (hit !== null) this.choose(hit);
      else if (place.getAttribute("aria-pressed") === "true") {
        const round = (degrees: number): number => Number(degrees.toFixed(PLACES));
        const name = t("Task {number}", { number: this.tasks.length + 1 });
        this.add({ name, longitude: round(lngLat.lng), latitude: round(lngLat.lat), reward: null });
      }
    });
    map.once("idle", () => (frame.dataset.state = "idle"));
    this.show();
  }

  private still({ scene }: OpenRelease, layer: MapLayer): void {
    const canvas = document.createElement("canvas");
    need(this.frame, ".canvas").append(canvas);
    drawStaticMap(canvas, scene, layer, readPalette(this.frame));
    this.say(t("This browser has no WebGL, so tasks cannot be placed by clicking. Upload them or type their places."));
  }

  private add(task: Task): void {
    if (this.tasks.length >= MOST_TASKS) return this.say(t("At most {most} tasks are planned at once.", { most: MOST_TASKS }));
    this.tasks.push(task);
    this.chosen = this.tasks.length - 1;
    this.changed();
  }

  private choose(index: number | null): void {
    this.chosen = index;
    this.show();
  }

  private async upload(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    input.value = "";
    if (!file) return;
    try {
      this.tasks = readTasks(await file.text());
      this.chosen = null;
      this.say(t("{count} tasks read.", { count: formatNumber(this.tasks.length) }));
      this.changed();
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** Tasks or settings changed: say so at once, and ask for a plan when they rest. */
  private changed(): void {
    for (const [name, words] of [["total_reward", ""], ["target", "\u00a0%"]] as const) {
      const input = need<HTMLInputElement>(this.form, `#${name}`);
      need(this.form, `label[for=${name}] output`).textContent = `${formatNumber(Number(input.value))}${words}`;
    }
    this.show();
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => void this.ask(), REST);
  }

  private async ask(): Promise<void> {
    const error = need<HTMLElement>(document, "#plan-error");
    try {
      this.plan = this.tasks.length ? await this.planner.plan(this.tasks, this.settings(), this.allocation, this.regions()) ?? this.plan : null;
      error.hidden = true;
    } catch (refusal) {
      this.plan = null;
      const field = refusal instanceof Refused ? this.labelOf(refusal.field) : "";
      error.textContent = `${field ? `${field}: ` : ""}${refusal instanceof Error ? refusal.message : String(refusal)}`;
      error.hidden = false;
    }
    this.show();
    this.main.dataset.planned = String(this.plan?.tasks.length ?? 0);
  }

  private labelOf(field: string): string {
    return this.form.querySelector(`label[for="${CSS.escape(field)}"]`)?.firstChild?.textContent?.trim() ?? "";
  }

  private raw(): Record<string, string> {
    const values = Object.fromEntries([...new FormData(this.form)].map(([name, value]) => [name, String(value)]));
    return { ...values, allocation: this.allocation };
  }

  private settings(): Settings {
    const { model, density, allocation: _, geocast: __, ...numbers } = this.raw();
    const read = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Number(value)]));
    return { ...read, target: read.target! / 100, worker_share: read.worker_share! / 100, model: model!, density: density! };
  }

  private regions(): boolean {
    return "geocast" in this.raw() && this.tasks.length <= MOST_GEOCASTS;
  }

  private planned(): PlannedTask[] {
    const known = this.plan?.tasks ?? [];
    return this.tasks.map((task, index) => {
      const planned = known[index];
      return planned?.task === task ? planned : { task, even: null, chosen: null, cast: null };
    });
  }

  private show(): void {
    const planned = this.planned();
    this.circles?.show(planned, this.chosen);
    this.showTable(planned);
    this.showTotals();
    for (const button of document.querySelectorAll<HTMLButtonElement>("[data-take]")) {
      const needsPlan = ["csv", "geojson"].includes(button.dataset.take!);
      button.disabled = needsPlan ? !this.plan : this.tasks.length === 0;
    }
    const link = this.tasks.length ? formatPlanLink(this.tasks, this.raw()) : "";
    history.replaceState(null, "", link || location.pathname + location.search);
  }

  private showTotals(): void {
    const result = need<HTMLElement>(document, "#result");
    result.hidden = !this.plan;
    if (!this.plan) return;
    const { even, chosen, tasks, casts } = this.plan;
    const figure = (name: string, ...content: (Node | string)[]): void =>
      need(result, `[data-figure=${name}]`).replaceChildren(...content);
    const of = (): Node => element("small", "", ` ${t("of {count}", { count: formatNumber(tasks.length) })}`);
    figure("met-even", formatNumber(even.planned), of());
    figure("met-chosen", formatNumber(chosen.planned), of());
    figure("notified-even", formatNumber(even.notified));
    figure("notified-chosen", formatNumber(chosen.notified));
    for (const each of document.querySelectorAll<HTMLElement>("[data-geocast]")) each.hidden = !casts;
    if (!casts) return;
    figure("met-regions", formatNumber(casts.planned), of());
    figure("notified-circles", formatNumber(casts.notified_in_circles));
    figure("notified-regions", formatNumber(casts.notified));
  }

  private showTable(planned: readonly PlannedTask[]): void {
    const table = need<HTMLTableElement>(document, "#tasks");
    need<HTMLElement>(document, "#no-tasks").hidden = planned.length > 0;
    table.parentElement!.hidden = planned.length === 0;
    const most = Math.max(1, ...planned.flatMap(({ even, chosen }) => [even?.notified ?? 0, chosen?.notified ?? 0]));
    const rows = planned.slice(0, MOST_ROWS).map((each, index) => this.row(each, index, most));
    table.tBodies[0]!.replaceChildren(...rows);
    const more = need<HTMLElement>(document, "#more-tasks");
    more.hidden = planned.length <= MOST_ROWS;
    more.textContent = t("The first {shown} of {count} tasks; all are on the map and in the files.", { shown: MOST_ROWS, count: formatNumber(planned.length) });
  }

  private row({ task, even, chosen, cast }: PlannedTask, index: number, most: number): HTMLTableRowElement {
    const name = element("button", "name", element("span", "no", String(index + 1)), ` ${task.name}`);
    name.type = "button";
    name.addEventListener("click", () => this.choose(this.chosen === index ? null : index));
    const remove = element("button", "remove", "\u00d7");
    remove.type = "button";
    remove.setAttribute("aria-label", t("Remove {name}", { name: task.name }));
    remove.addEventListener("click", () => {
      this.tasks.splice(index, 1);
      this.chosen = null;
      this.changed();
    });
    const row = element("tr", index === this.chosen ? "on" : "", element("td", "", name));
    if (chosen && chosen.radius_metres === null && (even?.radius_metres ?? null) === null) {
      const why = element("td", "why small", t(chosen.explanation), reached(chosen));
      // On a phone the column of distances is not there.
      why.colSpan = matchMedia("(max-width: 720px)").matches ? 3 : 4;
      row.append(why);
    } else {
      row.append(
        element("td", "r num", offered(even)),
        element("td", "r num new", offered(chosen)),
        element("td", "r num reach", chosen?.radius_metres ? formatMetres(chosen.radius_metres) : ""),
        element("td", "people", ...people(even, chosen, most), ...(cast ? [inRegions(cast)] : [])),
      );
    }
    row.append(element("td", "r", remove));
    return row;
  }

  private async take(what: string): Promise<void> {
    if (what === "csv") download("plan.csv", "text/csv", planCsv(this.plan!));
    if (what === "geojson") download("plan.geojson", "application/geo+json", planGeoJson(this.plan!));
    if (what === "nothing") {
      this.tasks = [];
      this.chosen = null;
      this.changed();
    }
    if (what === "link") {
      await navigator.clipboard?.writeText(location.href).catch(() => undefined);
      this.say(
        this.tasks.length > MOST_LINKED
          ? t("The link holds the settings, but {most} tasks at most. Send the file along, or keep the campaign.", { most: MOST_LINKED })
          : t("The link is copied, tasks and settings in it."),
      );
    }
  }

  private async keep(form: HTMLFormElement): Promise<void> {
    const given = new FormData(form);
    const { allocation: _, ...settings } = { allocation: "", ...this.settings() };
    const response = await fetch(this.main.dataset.campaigns!, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": String(given.get("csrfmiddlewaretoken")) },
      body: JSON.stringify({
        name: given.get("name"),
        release: this.main.dataset.release,
        tasks: this.tasks,
        settings,
        shared: given.has("shared"),
        organisation: given.get("organisation") ?? "",
      }),
    });
    const answer = (await response.json()) as { page?: string; detail?: string };
    const said = need<HTMLElement>(document, "#said");
    if (!response.ok || !answer.page) return this.say(answer.detail ?? t("It was not kept ({status}).", { status: response.status }));
    const link = element("a", "", answer.page);
    link.href = answer.page;
    said.replaceChildren(t("Kept, at "), link);
  }

  private say(message: string): void {
    need(document, "#said").textContent = message;
  }
}

/** The chance that is left for a task that misses the target. */
function reached({ success }: Planned): string {
  return success === null ? "" : ` ${t("Asking everybody in reach would do it with {chance} %.", { chance: formatNumber(success * 100) })}`;
}

function offered(planned: Planned | null): string {
  if (!planned) return "";
  return planned.radius_metres === null ? t("not met") : formatNumber(planned.reward ?? 0);
}

/** People notified both ways: two dots on one line, and the figure with its margin. */
function people(even: Planned | null, chosen: Planned | null, most: number): (Node | string)[] {
  const known = (planned: Planned | null): number | null => (planned?.radius_metres ? planned.notified : null);
  const [before, after] = [known(even), known(chosen)];
  const x = (value: number): number => 5 + 84 * Math.sqrt(value / most);
  const dots =
    (before !== null && after !== null ? `<path class="moved" d="M${x(before)} 9H${x(after)}"/>` : "") +
    (before === null ? "" : `<circle class="before" cx="${x(before)}" cy="9" r="3.5"/>`) +
    (after === null ? "" : `<circle class="after" cx="${x(after)}" cy="9" r="4.5"/>`);
  const holder = element("span", "dumb");
  holder.setAttribute("aria-hidden", "true");
  holder.innerHTML = `<svg viewBox="0 0 94 18"><path class="base" d="M5 9h84"/>${dots}</svg>`;
  const margin = chosen?.notified_margin ?? null;
  const figure = after === null ? "" : formatNumber(after);
  return [holder, element("span", "num", figure, element("span", "pm", margin === null || !figure ? "" : ` \u00b1 ${formatNumber(margin)}`))];
}

function inRegions({ notified, regions, reached }: Cast): Node {
  const words = reached ? t("in regions ({count}): {people}", { people: formatNumber(notified), count: regions }) : t("regions do not suffice");
  return element("span", "xs quiet by-regions", words);
}

function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const main = document.querySelector<HTMLElement>("main.planner");
const frame = document.querySelector<HTMLElement>("#map");
if (main && frame) {
  new Page(main, frame).open().catch((error: unknown) => {
    const notice = need<HTMLElement>(frame, ".map-notice");
    notice.textContent = error instanceof Error ? error.message : String(error);
    notice.hidden = false;
  });
}
