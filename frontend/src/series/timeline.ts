/** The time line of a series: the totals of its periods, a slider through them, and play. */
import type { OpenSeries } from "../data/series-array";
import { need } from "../ui/dom";
import { t } from "../ui/translate";
import { drawCourse, periodAt } from "./course";
import { daysOf } from "./words";

/** Milliseconds that each period is shown while they play; nothing moves between two. */
const PACE = 900;

export type Chosen = {
  /** Shows a period. */
  show: (at: number) => void;
  /** Puts a period beside the one shown. */
  beside: (at: number) => void;
};

export class Timeline {
  private readonly input: HTMLInputElement;
  private readonly play: HTMLButtonElement;
  private readonly picture: SVGSVGElement;
  private timer = 0;
  private before = -1;

  constructor(root: HTMLElement, private readonly opened: OpenSeries, private readonly chosen: Chosen) {
    const { periods } = opened.series;
    this.input = need(root, "input");
    this.play = need(root, "button");
    this.picture = need(root, "svg");
    root.hidden = false;
    this.input.max = String(periods.length - 1);
    this.play.hidden = periods.length < 2;
    this.play.addEventListener("click", () => this.toggle());
    this.input.addEventListener("input", () => {
      this.stop();
      chosen.show(this.input.valueAsNumber);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      this.toggle();
    });
    this.picture.addEventListener("click", (event) => {
      this.stop();
      const at = periodAt(periods, this.picture.clientWidth, event.offsetX);
      if (event.shiftKey) chosen.beside(at);
      else chosen.show(at);
    });
    new ResizeObserver(() => this.draw()).observe(this.picture);
  }

  /** Marks the period shown, and the one that it is compared with, or -1. */
  mark(at: number, before: number): void {
    this.before = before;
    this.input.valueAsNumber = at;
    this.input.setAttribute("aria-valuetext", daysOf(this.opened.series.periods[at]!));
    this.draw();
  }

  private draw(): void {
    const { periods, totalMargin } = this.opened.series;
    const course = { values: periods.map(({ total }) => total), margins: periods.map(({ margin }) => margin ?? totalMargin) };
    drawCourse(this.picture, periods, course, this.input.valueAsNumber, this.before);
  }

  private toggle(): void {
    if (this.timer) return this.stop();
    this.play.textContent = t("Stop");
    const { length } = this.opened.series.periods;
    const step = (): void => this.chosen.show((this.input.valueAsNumber + 1) % length);
    step();
    this.timer = window.setInterval(step, PACE);
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = t("Play");
  }
}
