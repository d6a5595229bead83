/** The course over time of one place or area: a picture with intervals, and its figures in a table. */
import type { AreaShape } from "../geometry/area-shape";
import { countsOf, marginOf, type OpenSeries, type Table } from "../data/series-array";
import { element, need } from "../ui/dom";
import { messageOf } from "../ui/errors";
import { capitalise, formatMargin, formatNumber } from "../ui/format";
import { t } from "../ui/translate";
import { type Course, drawCourse } from "./course";
import { daysOf } from "./words";

type Answer = { period: number; estimate: number | null; margin: number | null };

export class Profile {
  private readonly picture: SVGSVGElement;
  private course: Course | null = null;
  private at = 0;
  /** Counts the questions, so that late answers can be told from the last. */
  private questions = 0;

  constructor(private readonly panel: HTMLElement, private readonly opened: OpenSeries) {
    this.picture = need(panel, "svg");
    new ResizeObserver(() => this.draw()).observe(this.picture);
  }

  /** Marks the period shown. */
  mark(at: number): void {
    this.at = at;
    this.draw();
  }

  /** Shows the course of one region, from the published counts; none where it is not listed. */
  ofRegion(table: Table, region: number, name: string): void {
    this.questions++;
    const counts = this.opened.series.periods.map((_, at) => countsOf(table, at)[region] ?? 0);
    const values = counts.map((count) => (table.listed && !count ? null : count));
    this.show(name, { values, margins: values.map((count) => (count === null ? null : marginOf(table, count))) });
  }

  /** Asks for the course of an area that a reader has drawn; none hides it. */
  async ofArea(area: AreaShape | undefined): Promise<void> {
    const question = ++this.questions;
    if (!area) {
      this.panel.hidden = true;
      return;
    }
    this.show(t("Your area"), null);
    this.say(t("Counting\u2026"));
    try {
      const answers = await ask(this.panel.dataset.query!, area);
      if (question !== this.questions) return;
      const found = this.opened.series.periods.map(({ number }) => answers.find(({ period }) => period === number));
      this.show(t("Your area"), {
        values: found.map((each) => each?.estimate ?? null),
        margins: found.map((each) => each?.margin ?? null),
      });
    } catch (error) {
      if (question === this.questions) this.say(messageOf(error));
    }
  }

  private say(words: string): void {
    need(this.panel, "[role=status]").textContent = words;
  }

  private show(name: string, course: Course | null): void {
    this.course = course;
    this.panel.hidden = false;
    this.say("");
    need(this.panel, "h2").textContent = capitalise(t("{place}, over time", { place: name }));
    const rows = this.opened.series.periods.map((period, at) => {
      const day = element("th", "", daysOf(period));
      day.scope = "row";
      const value = course?.values[at] ?? null;
      const figure = value === null ? "" : `${formatNumber(value)} ${formatMargin(course!.margins[at] ?? 0)}`;
      return element("tr", "", day, element("td", "r num", figure));
    });
    need(this.panel, "tbody").replaceChildren(...(course ? rows : []));
    need<HTMLElement>(this.panel, "details").hidden = !course;
    this.draw();
  }

  private draw(): void {
    this.picture.toggleAttribute("hidden", !this.course);
    if (this.course) drawCourse(this.picture, this.opened.series.periods, this.course, this.at);
  }
}

async function ask(url: string, polygon: AreaShape): Promise<Answer[]> {
  const response = await fetch(url, {
    method: "POST",
    credentials: "omit",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ polygon }),
  }).catch(() => {
    throw new Error(t("The server did not answer; try again."));
  });
  const { results, detail } = (await response.json().catch(() => ({}))) as { results?: Answer[]; detail?: string };
  if (response.ok && results) return results;
  throw new Error(detail ?? t("The area could not be added up ({status}).", { status: response.status }));
}
