// The planner: tasks on a published map, planned by the server each time a setting moves.
import "maplibre-gl/dist/maplibre-gl.css";
import { showNotice } from "../map/notice";
import { element, need } from "../ui/dom";
import { download } from "../ui/download";
import { messageOf } from "../ui/errors";
import { formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import { PlanClient, Rejected } from "./ask-plan";
import { fetchCampaign, keepCampaign } from "./campaigns";
import { planCsv, planGeoJson } from "./export";
import { SettingsForm } from "./form";
import { formatPlanLink, parsePlanLink } from "./permalink";
import { RadiusView } from "./radius-view";
import { fieldsOf, settingsOf } from "./settings";
import {
  addTask,
  campaignTasks,
  EMPTY,
  plannedTasks,
  removeTask,
  replaceTasks,
  type State,
  typedTask,
} from "./state";
import { showTable } from "./table";
import { readTasks } from "./task-files";
import { TaskMap } from "./task-map";
import { MOST_LINKED, MOST_TASKS, type Task } from "./tasks";
import { showTotals } from "./totals";

/** Milliseconds that a slider must rest before the server is asked. */
const PAUSE = 120;

class Page {
  private state: State = EMPTY;
  private timer = 0;
  private readonly client: PlanClient;
  private readonly form = new SettingsForm(need(document, "#settings"));
  private readonly map: TaskMap;
  private readonly radius: RadiusView;

  constructor(private readonly main: HTMLElement, frame: HTMLElement) {
    this.client = new PlanClient(main.dataset.plan!, main.dataset.release!);
    this.map = new TaskMap(frame, {
      select: (index) => this.show({ ...this.state, selected: index }),
      place: (longitude, latitude) => {
        const name = t("Task {number}", { number: this.state.tasks.length + 1 });
        this.add({ name, longitude, latitude, reward: null });
      },
    });
    this.radius = new RadiusView(main, this.form, this.map);
  }

  async open(): Promise<void> {
    await this.restore();
    this.listen();
    this.change(this.state);
    const clickable = await this.map.open();
    if (clickable) return;
    this.say(t("This browser has no WebGL, so tasks cannot be placed by clicking. Upload them or type their places."));
  }

  /** Takes tasks and settings from the link, else from the campaign that the page names. */
  private async restore(): Promise<void> {
    const { tasks, fields } = parsePlanLink(location.hash);
    this.state = replaceTasks(this.state, tasks);
    this.form.fill(fields);
    this.radius.restore(fields);
    const address = this.main.dataset.campaign;
    const campaign = address && tasks.length === 0 ? await fetchCampaign(address) : null;
    if (!campaign) return;
    this.form.fill(fieldsOf(campaign.settings));
    this.state = replaceTasks(this.state, campaignTasks(campaign.tasks));
  }

  private listen(): void {
    this.form.listen(() => this.change(this.state));
    this.radius.listen(() => this.change(this.state));
    const upload = need<HTMLInputElement>(document, "#upload");
    upload.addEventListener("change", () => void this.upload(upload));
    const add = need<HTMLFormElement>(document, "#add");
    add.addEventListener("submit", (event) => {
      event.preventDefault();
      const fields = Object.fromEntries([...new FormData(add)].map(([name, value]) => [name, String(value)]));
      this.add(typedTask(fields, this.state.tasks.length + 1));
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

  private add(task: Task): void {
    const next = addTask(this.state, task);
    if (next) this.change(next);
    else this.say(t("At most {most} tasks can be planned at once.", { most: MOST_TASKS }));
  }

  private async upload(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    input.value = "";
    if (!file) return;
    try {
      const tasks = readTasks(await file.text());
      this.say(t("{count} tasks read.", { count: formatNumber(tasks.length) }));
      this.change(replaceTasks(this.state, tasks));
    } catch (error) {
      this.say(messageOf(error));
    }
  }

  /** Shows changed tasks or settings at once, and asks for a plan when they rest. */
  private change(state: State): void {
    this.radius.prepare(state.tasks);
    this.show(state);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(), PAUSE);
    this.radius.schedule();
  }

  private async ask(): Promise<void> {
    const notice = need<HTMLElement>(document, "#plan-error");
    try {
      const plan = this.state.tasks.length ? ((await this.requestPlan()) ?? this.state.plan) : null;
      this.state = { ...this.state, plan };
      notice.hidden = true;
    } catch (error) {
      this.state = { ...this.state, plan: null };
      const label = error instanceof Rejected ? this.form.labelOf(error.field) : "";
      notice.textContent = `${label ? `${label}: ` : ""}${messageOf(error)}`;
      notice.hidden = false;
    }
    this.show(this.state);
    this.main.dataset.planned = String(this.state.plan?.tasks.length ?? 0);
  }

  private requestPlan() {
    return this.client.plan({ tasks: this.state.tasks, settings: settingsOf(this.form.fields()) });
  }

  private show(state: State): void {
    this.state = state;
    const { tasks, selected, plan } = state;
    const planned = plannedTasks(state);
    this.map.show(planned, selected);
    showTable(planned, selected, {
      select: (index) => this.show({ ...this.state, selected: this.state.selected === index ? null : index }),
      remove: (index) => this.change(removeTask(this.state, index)),
    });
    showTotals(plan);
    for (const button of document.querySelectorAll<HTMLButtonElement>("[data-take]")) {
      const needsPlan = ["csv", "geojson"].includes(button.dataset.take!);
      const needsTasks = button.dataset.take !== "radius";
      button.disabled = needsPlan ? !plan : needsTasks && tasks.length === 0;
    }
    const link = this.link();
    history.replaceState(null, "", link || location.pathname + location.search);
  }

  /** The part of the address that holds tasks and settings; empty before anything was done. */
  private link(): string {
    const { tasks } = this.state;
    if (!tasks.length && !this.radius.shown) return "";
    const { reward: _, ...fields } = this.form.fields();
    return formatPlanLink(tasks, { ...fields, ...this.radius.fields() });
  }

  private async take(what: string): Promise<void> {
    const { plan, tasks } = this.state;
    if (what === "csv") download("plan.csv", new Blob([planCsv(plan!)], { type: "text/csv" }));
    if (what === "geojson") download("plan.geojson", new Blob([planGeoJson(plan!)], { type: "application/geo+json" }));
    if (what === "nothing") this.change(replaceTasks(this.state, []));
    if (what === "link") {
      await navigator.clipboard?.writeText(location.href).catch(() => undefined);
      this.say(
        tasks.length > MOST_LINKED
          ? t("The link holds the settings, but {most} tasks at most. Send the file along, or save the plan.", { most: MOST_LINKED })
          : t("The link is copied, with the tasks and settings."),
      );
    }
  }

  private async keep(form: HTMLFormElement): Promise<void> {
    const fields = new FormData(form);
    try {
      const page = await keepCampaign(this.main.dataset.campaigns!, String(fields.get("csrfmiddlewaretoken")), {
        name: fields.get("name"),
        release: this.main.dataset.release,
        tasks: this.state.tasks,
        settings: settingsOf(this.form.fields()),
        shared: fields.has("shared"),
        organisation: fields.get("organisation") ?? "",
      });
      const link = element("a", "", page);
      link.href = page;
      need(document, "#said").replaceChildren(t("Saved at "), link);
    } catch (error) {
      this.say(messageOf(error));
    }
  }

  private say(message: string): void {
    need(document, "#said").textContent = message;
  }
}

const main = document.querySelector<HTMLElement>("main.planner");
const frame = document.querySelector<HTMLElement>("#map");
if (main && frame) {
  new Page(main, frame).open().catch((error: unknown) => showNotice(frame, messageOf(error)));
}
