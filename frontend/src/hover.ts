/** The flag and the outline of the cell a reader points at, taps, or walks to with arrow keys. */
import { element } from "./dom";
import { formatPosition, speak } from "./format";
import type { Map as MapLibre, MapMouseEvent } from "maplibre-gl";
import { placeGrid } from "./heatmap-layer";
import { toDegrees, toMercator } from "./mercator";
import type { Square } from "./square";
import { NOWHERE, type Surface } from "./surface";

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

type Cell = { row: number; column: number };

export class Hover {
  private readonly outline = element("div", "cell-outline");
  private readonly flag = element("div", "flag");
  private readonly speech = element("p", "visually-hidden");
  private cell: Cell | null = null;

  constructor(
    private readonly map: MapLibre,
    frame: HTMLElement,
    private surface: Surface,
    private square: Square,
    private readonly counting: string,
  ) {
    this.speech.setAttribute("aria-live", "polite");
    this.flag.setAttribute("aria-hidden", "true");
    frame.append(this.outline, this.flag, this.speech);
    this.hide();
    map.on("mousemove", (event) => this.point(event));
    map.on("click", (event) => this.point(event));
    map.on("mouseout", () => this.hide());
    map.on("move", () => this.place());
    map.getCanvas().addEventListener("keydown", (event) => this.key(event));
  }

  use(surface: Surface, square: Square): void {
    this.surface = surface;
    this.square = square;
    if (this.cell) this.show(this.cell);
  }

  private point(event: MapMouseEvent): void {
    const { lng, lat } = event.lngLat;
    const { grid } = this.surface;
    const { x, y } = toMercator({ longitude: lng, latitude: lat });
    this.show({
      row: Math.floor((grid.north - y) / grid.cell),
      column: Math.floor((x - grid.west) / grid.cell),
    });
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.hide();
    if (event.key === "+" || event.key === "=") this.map.zoomIn();
    if (event.key === "-") this.map.zoomOut();
    const arrow = ARROWS[event.key];
    if (!arrow || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const from = this.cell ?? this.middle();
    const to = this.cell ? this.step(from, arrow, event.shiftKey ? 10 : 1) : from;
    this.show(to);
    this.follow(to);
    this.announce();
  }

  /** The next box in a direction: arrows walk from box to box, whatever their sizes. */
  private step(from: Cell, [down, right]: readonly [number, number], times: number): Cell {
    const { rows, columns } = this.surface.grid;
    let { row, column } = from;
    for (let walked = 0; walked < times; walked++) {
      const box = this.surface.at(row, column);
      const edges =
        box === NOWHERE
          ? { top: row, bottom: row + 1, left: column, right: column + 1 }
          : this.surface.edges(box);
      if (down) row = down > 0 ? edges.bottom : edges.top - 1;
      if (right) column = right > 0 ? edges.right : edges.left - 1;
    }
    return {
      row: Math.min(rows - 1, Math.max(0, row)),
      column: Math.min(columns - 1, Math.max(0, column)),
    };
  }

  private middle(): Cell {
    const { grid } = this.surface;
    const { lng, lat } = this.map.getCenter();
    const { x, y } = toMercator({ longitude: lng, latitude: lat });
    const within = (value: number, limit: number) => Math.min(limit - 1, Math.max(0, value));
    return {
      row: within(Math.floor((grid.north - y) / grid.cell), grid.rows),
      column: within(Math.floor((x - grid.west) / grid.cell), grid.columns),
    };
  }

  private follow({ row, column }: Cell): void {
    const { grid } = this.surface;
    const { longitude, latitude } = toDegrees(
      grid.west + (column + 0.5) * grid.cell,
      grid.north - (row + 0.5) * grid.cell,
    );
    if (!this.map.getBounds().contains([longitude, latitude])) {
      this.map.jumpTo({ center: [longitude, latitude] });
    }
  }

  private show(cell: Cell): void {
    const box = this.surface.at(cell.row, cell.column);
    if (box === NOWHERE) {
      this.hide();
      this.cell = cell;
      return;
    }
    this.cell = cell;
    const { figure, margin, note } = speak(this.surface.read(box), this.counting, this.square);
    this.flag.replaceChildren(
      element("b", "", figure),
      " ",
      element("span", "pm", margin),
      ...(note ? [element("span", "note", note)] : []),
    );
    this.outline.hidden = false;
    this.flag.hidden = false;
    this.place();
  }

  private announce(): void {
    if (!this.cell) return;
    const { grid } = this.surface;
    const { longitude, latitude } = toDegrees(
      grid.west + (this.cell.column + 0.5) * grid.cell,
      grid.north - (this.cell.row + 0.5) * grid.cell,
    );
    const words = this.flag.hidden ? "outside the study area" : this.flag.innerText;
    this.speech.textContent = `${words}, ${formatPosition(longitude, latitude)}`;
  }

  private hide(): void {
    this.cell = null;
    this.outline.hidden = true;
    this.flag.hidden = true;
  }

  private place(): void {
    if (!this.cell || this.flag.hidden) return;
    const box = this.surface.at(this.cell.row, this.cell.column);
    const { top, bottom, left, right } = this.surface.edges(box);
    const { corner, cellSize } = placeGrid(this.map, this.surface.grid);
    const x = Math.round(corner.x + left * cellSize);
    const y = Math.round(corner.y + top * cellSize);
    const width = Math.round(corner.x + right * cellSize) - x;
    const height = Math.round(corner.y + bottom * cellSize) - y;
    move(this.outline, x, y);
    this.outline.style.width = `${width}px`;
    this.outline.style.height = `${height}px`;
    this.placeFlag(x, y, width, height);
  }

  /** Above and to the right of the box, turned inwards where it would leave the map. */
  private placeFlag(x: number, y: number, width: number, height: number): void {
    const room = this.map.getCanvas();
    const size = this.flag.getBoundingClientRect();
    const right = x + width + 8;
    const above = y - size.height - 8;
    const within = (value: number, limit: number) => Math.max(8, Math.min(value, limit - 8));
    move(
      this.flag,
      within(
        right + size.width > room.clientWidth - 8 ? x - size.width - 8 : right,
        room.clientWidth - size.width,
      ),
      within(above < 8 ? y + height + 8 : above, room.clientHeight - size.height),
    );
  }
}

function move(target: HTMLElement, x: number, y: number): void {
  target.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
}
