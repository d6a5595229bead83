/** The switch between density and radius, the reward of the radius map, and its file. */
import { choices } from "../ui/controls";
import { need } from "../ui/dom";
import { download } from "../ui/download";
import { messageOf } from "../ui/errors";
import { t } from "../ui/translate";
import { Rejected } from "./ask-plan";
import { RadiusClient, type RadiusRequest } from "./ask-radius";
import { evenReward } from "./even-reward";
import type { SettingsForm } from "./form";
import { type Fields, settingsOf } from "./settings";
import type { TaskMap } from "./task-map";
import type { Task } from "./tasks";

/** Milliseconds that settings must rest before the server is asked: each map counts as thousands of tasks. */
const PAUSE = 350;

export class RadiusView {
  shown = false;
  /** Whether the reader chose the reward; else it is the even reward of the tasks. */
  private chosen = false;
  private timer = 0;
  private readonly client: RadiusClient;
  private readonly reward = need<HTMLInputElement>(document, "#reward");
  private readonly notice = need<HTMLElement>(document, "#radius-error");

  constructor(
    main: HTMLElement,
    private readonly form: SettingsForm,
    private readonly map: TaskMap,
  ) {
    this.client = new RadiusClient(main.dataset.radius!, main.dataset.release!);
  }

  /** Takes what a link says of the radius map. */
  restore({ shows, reward }: Fields): void {
    this.shown = shows === "radius";
    this.chosen = reward !== undefined;
  }

  /** Calls back when the reader switches between density and radius. */
  listen(changed: () => void): void {
    choices(need(document, "[data-choose=shows]"), this.shown ? "radius" : "density", (shows) => {
      this.shown = shows === "radius";
      changed();
    });
    this.reward.addEventListener("input", () => (this.chosen = true));
    need(document, "[data-take=radius]").addEventListener("click", () => void this.take());
  }

  /** What a link says of the radius map. */
  fields(): Fields {
    if (!this.shown) return {};
    return { shows: "radius", ...(this.chosen && { reward: this.reward.value }) };
  }

  /** Shows the controls as they are now, before the server is asked. */
  prepare(tasks: readonly Task[]): void {
    const even = evenReward(tasks, Number(this.form.fields().total_reward));
    if (!this.chosen && even !== null) this.form.fill({ reward: String(even) });
    for (const each of document.querySelectorAll<HTMLElement>("[data-with-radius]")) each.hidden = !this.shown;
    this.form.showSliderValues();
    if (!this.shown) this.map.showDensity();
  }

  /** Asks for the map once the settings rest. */
  schedule(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(), PAUSE);
  }

  private async ask(): Promise<void> {
    this.notice.hidden = true;
    if (!this.shown) return;
    try {
      const answer = await this.client.map(this.request());
      if (!answer || !this.shown) return;
      this.map.showRadius(answer);
      if (answer.features.every(({ properties }) => properties.feature === "out_of_reach")) this.sayWhy();
    } catch (error) {
      this.say(error);
    }
  }

  private async take(): Promise<void> {
    try {
      download("radius.gpkg", await this.client.geoPackage(this.request()));
    } catch (error) {
      this.say(error);
    }
  }

  private request(): RadiusRequest {
    return { reward: Number(this.reward.value), settings: settingsOf(this.form.fields()) };
  }

  private say(error: unknown): void {
    const label = error instanceof Rejected ? this.form.labelOf(error.field) : "";
    this.notify(`${label ? `${label}: ` : ""}${messageOf(error)}`);
  }

  /** Says what to change where the whole map is out of reach. */
  private sayWhy(): void {
    const share = this.form.fields().worker_share ?? "";
    this.notify(
      t("Nowhere do enough people accept: {share} % of those on this map are taken to be workers. Raise that share, or the reward.", { share }),
    );
  }

  private notify(words: string): void {
    this.notice.textContent = words;
    this.notice.hidden = false;
  }
}
