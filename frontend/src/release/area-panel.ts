/** The panel of the area tool: ways to give an area, and the answer in words. */
import { type AreaShape, type End, type Ends, fromBounds, MOST_BYTES, readBounds, readGeojson } from "../geometry/area-shape";
import { element, need } from "../ui/dom";
import { messageOf } from "../ui/errors";
import { formatMargin, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import type { Tool } from "./area-sketch";
import type { Counted } from "./ask-area";

export type PanelActions = {
  draw: (tool: Tool) => void;
  clear: () => void;
  /** An area that was typed or read from a file. */
  use: (shape: AreaShape) => void;
};

/** The figure of an area with its margin and noun, or that there is none. */
export function figureOf({ estimate, margin, reason, noun }: Counted): (Node | string)[] {
  if (estimate === null || margin === null) {
    return [t(reason === "outside" ? "Outside this map" : "Nothing was published here")];
  }
  return [formatNumber(estimate), " ", element("span", "pm", `${formatMargin(margin)} ${t(noun)}`)];
}

/** How trips lead, where the question was about trips. */
function wayWords({ from, to }: Ends<AreaShape>): string[] {
  if (from && to) return [t("From the one area to the other.")];
  if (from) return [t("From the area to anywhere.")];
  return to ? [t("From anywhere to the area.")] : [];
}

/** How many people that may be, where people are not counted one by one. */
function peopleWords({ people_low, people_high, counted }: Counted, { area }: Ends<AreaShape>): string[] {
  if (people_low === null || people_high === null) return [];
  const between = t("At least {low} and at most {high} people.", {
    low: formatNumber(people_low),
    high: formatNumber(people_high),
  });
  return counted === "sightings" && area
    ? [between, t("Someone seen in several squares here counts once for each.")]
    : [between];
}

/** The answer scaled to a total of all the data, where the map can be scaled. */
function scaledWords({ scaled, scaledNoun }: Counted): string[] {
  if (scaled === null) return [];
  const values = {
    noun: t(scaledNoun),
    count: formatNumber(scaled.estimate),
    low: formatNumber(scaled.low),
    high: formatNumber(scaled.high),
  };
  return [
    t("Scaled to all {noun}: {count}, between {low} and {high}, if what was left out lies where the rest lies.", values),
  ];
}

export class AreaPanel {
  private readonly status: HTMLElement;
  private readonly answer: HTMLElement;
  private readonly clearing: HTMLElement;
  private readonly choices: HTMLButtonElement[];

  constructor(private readonly panel: HTMLElement, private readonly actions: PanelActions) {
    this.status = need(panel, "[role=status]");
    this.answer = need(panel, ".answer");
    this.clearing = need(panel, "[data-clear]");
    this.choices = [...panel.querySelectorAll<HTMLButtonElement>("[data-end]")];
    for (const choice of this.choices) choice.addEventListener("click", () => this.press(choice));
    panel.hidden = false;
    for (const button of panel.querySelectorAll<HTMLButtonElement>("[data-draw]")) {
      button.addEventListener("click", () => actions.draw(button.dataset.draw as Tool));
    }
    this.clearing.addEventListener("click", () => actions.clear());
    const form = need<HTMLFormElement>(panel, "form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const texts = ["west", "south", "east", "north"].map((side) => String(new FormData(form).get(side)));
      this.attempt(() => fromBounds(readBounds(texts)));
    });
    const file = need<HTMLInputElement>(panel, "input[type=file]");
    file.addEventListener("change", () => void this.readFile(file));
  }

  /** What areas here are for: one to count in, or where trips begin and end. */
  get ends(): readonly End[] {
    return this.choices.length ? this.choices.map((choice) => choice.dataset.end as End) : ["area"];
  }

  /** What the next area is for. */
  get end(): End {
    return this.ends[Math.max(0, this.pressed)]!;
  }

  /** Whoever has given where trips begin says next where they end. */
  goOn(): void {
    const next = this.choices[this.pressed + 1];
    if (next) this.press(next);
  }

  startOver(): void {
    const [first] = this.choices;
    if (first) this.press(first);
  }

  private get pressed(): number {
    return this.choices.findIndex((choice) => choice.getAttribute("aria-pressed") === "true");
  }

  private press(pressed: HTMLButtonElement): void {
    for (const choice of this.choices) choice.setAttribute("aria-pressed", String(choice === pressed));
  }

  get queryAddress(): string {
    return this.panel.dataset.query!;
  }

  get token(): string {
    return this.panel.dataset.token ?? "";
  }

  say(words: string): void {
    this.status.textContent = words;
  }

  /** Presses the button of the tool in use and says how it is used. */
  showTool(tool: Tool | null): void {
    for (const button of this.panel.querySelectorAll<HTMLElement>("[data-draw]")) {
      button.setAttribute("aria-pressed", String(button.dataset.draw === tool));
    }
    if (tool === "box") this.say(t("Drag across the map from corner to corner. Escape stops."));
    else if (tool === "polygon") this.say(t("Click each corner; click twice or press Enter at the last. Escape stops."));
    else this.say("");
  }

  offerClearing(offered: boolean): void {
    this.clearing.hidden = !offered;
  }

  hideAnswer(): void {
    this.answer.hidden = true;
  }

  showAnswer(answer: Counted, areas: Ends<AreaShape>, inLink: boolean): void {
    need(this.answer, ".total").replaceChildren(...figureOf(answer));
    const remark = inLink ? [] : [t("This outline is too detailed for the link.")];
    need(this.answer, ".small").textContent = [
      ...wayWords(areas), ...peopleWords(answer, areas), ...scaledWords(answer), ...answer.notes, ...remark,
    ].join(" ");
    this.answer.hidden = false;
    this.say("");
  }

  private async readFile(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    input.value = "";
    if (file.size > MOST_BYTES) return this.say(t("This file is too large; outlines of up to 2 MB can be added up here."));
    const text = await file.text();
    this.attempt(() => readGeojson(text));
  }

  private attempt(read: () => AreaShape): void {
    try {
      this.actions.use(read());
    } catch (error) {
      this.say(messageOf(error));
    }
  }
}
