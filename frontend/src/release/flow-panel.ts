/** The panel of a chosen region: its arrivals or departures, by where they begin or end. */
import type { Nouns } from "../data/release-array";
import type { Choice, Direction } from "../layers/flows/choice";
import type { MapLayer } from "../layers/map-layer";
import { element, need } from "../ui/dom";
import { capitalise, formatMargin, formatNumber } from "../ui/format";
import { t } from "../ui/translate";

/** Rows of the list; all other flows are summed in one more row. */
const ROWS = 12;

/** A layer of flows, whose region can be chosen in the panel too. */
type FlowLayer = MapLayer & { readonly flows: Choice; readonly nouns: Nouns; take(key: string | null, direction: Direction): void };

export class FlowPanel {
  private layer: FlowLayer | null = null;
  private readonly select: HTMLSelectElement;
  private readonly buttons: HTMLButtonElement[];

  constructor(private readonly panel: HTMLElement, changed: () => void) {
    this.select = need<HTMLSelectElement>(panel, "select");
    this.buttons = [...panel.querySelectorAll<HTMLButtonElement>("[data-value]")];
    this.select.addEventListener("change", () => {
      this.layer?.take(this.select.value || null, this.layer.flows.direction);
      changed();
    });
    for (const button of this.buttons) {
      button.addEventListener("click", () => {
        this.layer?.take(this.select.value || null, button.dataset.value as Direction);
        changed();
      });
    }
  }

  /** Shows what is chosen in a layer; hides the panel for a layer without flows. */
  show(layer: MapLayer): void {
    const isFlows = "flows" in layer && "take" in layer;
    this.panel.hidden = !isFlows;
    if (!isFlows) return;
    const first = this.layer === null;
    this.layer = layer as FlowLayer;
    const { regions, region, direction } = this.layer.flows;
    if (first) this.offer(regions);
    this.select.value = region?.key ?? "";
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.value === direction));
      button.disabled = region === null;
    }
    need(this.panel, ".told").replaceChildren(...this.told());
  }

  private offer(regions: Choice["regions"]): void {
    const named = [...regions].sort((one, other) => one.name.localeCompare(other.name));
    this.select.append(...named.map(({ key, name }) => new Option(name, key)));
  }

  private told(): HTMLElement[] {
    const { flows, nouns } = this.layer!;
    const { region, direction, shown } = flows;
    if (!region) return [element("p", "small quiet", t("The largest flows of all. Press a region on the map, or choose one here."))];
    const total = region[direction];
    const back = region[direction === "arrivals" ? "departures" : "arrivals"];
    const noun = t(nouns.sum);
    const words = { arrivals: t("{noun} arrive", { noun }), departures: t("{noun} leave", { noun }) };
    const others = {
      arrivals: t("{count} leave.", { count: `${formatNumber(back.value)} ${formatMargin(back.margin)}` }),
      departures: t("{count} arrive.", { count: `${formatNumber(back.value)} ${formatMargin(back.margin)}` }),
    };
    const sum = element("p", "total", `${formatNumber(total.value)} `, element("span", "pm", `${formatMargin(total.margin)} ${words[direction]}`));
    const { within } = region;
    const stay = within ? ` ${t("{count} stay here.", { count: `${formatNumber(within.value)} ${formatMargin(within.margin)}` })}` : "";
    return [sum, element("p", "small quiet", others[direction] + stay), ...(shown.length ? [this.table()] : []), this.rest()];
  }

  private table(): HTMLElement {
    const { flows } = this.layer!;
    const heads = { arrivals: t("From"), departures: t("To") };
    const largest = flows.shown[0]!.value;
    const head = element("th", "", heads[flows.direction]);
    const figures = element("th", "r", capitalise(t(this.layer!.nouns.one)));
    for (const each of [head, figures]) each.setAttribute("scope", "col");
    const bars = element("th", "");
    bars.setAttribute("aria-hidden", "true");
    const rows = flows.shown.slice(0, ROWS).map((flow) => {
      const name = element("th", "", flows.partner(flow).name);
      name.setAttribute("scope", "row");
      const figure = figureOf(flow.value, flow.margin);
      return element("tr", "", name, element("td", "", bar(flow.value / largest)), figure);
    });
    const smaller = flows.shown.slice(ROWS);
    const more = smaller.length
      ? [
          element(
            "tr",
            "",
            element("th", "", t("{count} smaller", { count: formatNumber(smaller.length) })),
            element("td", ""),
            figureOf(smaller.reduce((sum, { value }) => sum + value, 0), Math.ceil(Math.hypot(...smaller.map(({ margin }) => margin)))),
          ),
        ]
      : [];
    return element(
      "table",
      "bars",
      element("thead", "", element("tr", "", head, bars, figures)),
      element("tbody", "", ...rows, ...more),
    );
  }

  private rest(): HTMLElement {
    const { region, direction } = this.layer!.flows;
    const { other, otherMargin } = region![direction];
    const count = `${formatNumber(Math.round(other))} ${formatMargin(otherMargin)}`;
    return element("p", "small quiet", t("All others, too few on each way to tell from none: about {count}. They are in the total.", { count }));
  }
}

function figureOf(value: number, margin: number): HTMLElement {
  return element("td", "r num", `${formatNumber(value)} `, element("span", "pm", formatMargin(margin)));
}

function bar(share: number): HTMLElement {
  const box = element("span", "flow-bar");
  box.style.setProperty("--share", String(share));
  return box;
}
