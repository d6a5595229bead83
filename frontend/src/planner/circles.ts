/** Tasks, and the circles within which they notify people, drawn over the map. */
import type { Map as MapLibre } from "maplibre-gl";
import type { Palette } from "../colour/ramps";
import { groundScale } from "../geometry/mercator";
import { perPixelAt } from "../geometry/place";
import type { PlannedTask } from "./plan";

/** Radius of a task's mark in pixels. */
const MARK = 10;
/** With more tasks than this the numbers would cover each other. */
const MOST_NUMBERED = 200;

export class Circles {
  private tasks: readonly PlannedTask[] = [];
  private chosen: number | null = null;

  constructor(
    private readonly map: MapLibre,
    private readonly canvas: HTMLCanvasElement,
    private readonly palette: () => Palette,
  ) {
    map.on("move", () => this.draw());
    map.on("resize", () => this.draw());
  }

  show(tasks: readonly PlannedTask[], chosen: number | null): void {
    this.tasks = tasks;
    this.chosen = chosen;
    this.draw();
  }

  /** The index of the task whose mark is at a pixel of the map. */
  at(x: number, y: number): number | null {
    for (let index = this.tasks.length - 1; index >= 0; index--) {
      const place = this.place(this.tasks[index]!);
      if (place && Math.hypot(place.x - x, place.y - y) <= MARK + 3) return index;
    }
    return null;
  }

  /** Draws what is shown again, as after a change of theme. */
  draw(): void {
    const { canvas } = this;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const pen = canvas.getContext("2d")!;
    pen.scale(ratio, ratio);
    this.tasks.forEach((task, index) => this.drawCircle(pen, task, index));
    this.tasks.forEach((task, index) => this.drawMark(pen, task, index));
  }

  private drawCircle(pen: CanvasRenderingContext2D, task: PlannedTask, index: number): void {
    const place = this.place(task);
    if (!place) return;
    const radius = task.planned?.radius_metres;
    if (!radius) return;
    const { sheet, accent } = this.palette();
    const ring = new Path2D();
    ring.arc(place.x, place.y, radius * place.perMetre, 0, 2 * Math.PI);
    pen.lineWidth = 4.4;
    pen.strokeStyle = sheet;
    pen.stroke(ring);
    pen.lineWidth = 2;
    pen.strokeStyle = accent;
    pen.stroke(ring);
    if (index === this.chosen) {
      pen.globalAlpha = 0.16;
      pen.fillStyle = accent;
      pen.fill(ring);
      pen.globalAlpha = 1;
    }
  }

  private drawMark(pen: CanvasRenderingContext2D, task: PlannedTask, index: number): void {
    const place = this.place(task);
    if (!place) return;
    const { ink, sheet, accent } = this.palette();
    const numbered = this.tasks.length <= MOST_NUMBERED;
    const unmet = task.planned !== null && task.planned.radius_metres === null;
    pen.beginPath();
    pen.arc(place.x, place.y, numbered ? MARK : 3, 0, 2 * Math.PI);
    pen.fillStyle = index === this.chosen ? accent : sheet;
    pen.fill();
    pen.lineWidth = 1.2;
    pen.strokeStyle = ink;
    if (unmet) pen.setLineDash([2, 2]);
    pen.stroke();
    pen.setLineDash([]);
    if (!numbered) return;
    pen.fillStyle = index === this.chosen ? sheet : ink;
    pen.font = '600 11.5px "Archivo Variable", "Helvetica Neue", Arial, sans-serif';
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(String(index + 1), place.x, place.y + 0.5);
  }

  private place({ task }: PlannedTask): { x: number; y: number; perMetre: number } | null {
    const { longitude, latitude } = task;
    if (longitude === null || latitude === null || Math.abs(latitude) > 85 || Math.abs(longitude) > 180) return null;
    const { x, y } = this.map.project([longitude, latitude]);
    return { x, y, perMetre: 1 / (perPixelAt(this.map.getZoom()) * groundScale(latitude)) };
  }
}
