/**
 * The map's colours, read from the design tokens so that a change of theme is a redraw. The ramp is
 * that of the nearest element with `data-ramp`.
 */
import { STEPS } from "./classes";

/** Names of the ramps that a reader may choose; their colours are design tokens. */
export const RAMPS = ["tide", "ember", "slate"] as const;
export type RampName = (typeof RAMPS)[number];

export type Rgb = readonly [number, number, number];

export type Palette = {
  land: string;
  outside: string;
  water: string;
  waterline: string;
  waterLabel: string;
  coast: string;
  study: string;
  hatch: string;
  ink: string;
  sheet: string;
  /** Colours from the lowest class to the highest. */
  ramp: readonly string[];
  label: string;
  accent: string;
};

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  return {
    land: token("--map-land"),
    outside: token("--map-outside"),
    water: token("--map-water"),
    waterline: token("--map-waterline"),
    waterLabel: token("--map-water-label"),
    coast: token("--map-coast"),
    study: token("--map-study"),
    hatch: token("--map-hatch"),
    ink: token("--ink"),
    sheet: token("--sheet"),
    ramp: Array.from({ length: STEPS }, (_, step) => token(`--ramp-${step}`)),
    label: token("--ink-2"),
    accent: token("--accent"),
  };
}

export function parseHex(colour: string): Rgb {
  // The build writes #ffffff as #fff.
  const short = /^#([0-9a-f]{3})$/i.exec(colour)?.[1]?.replace(/./g, "$&$&");
  const digits = short ?? /^#([0-9a-f]{6})$/i.exec(colour)?.[1];
  if (!digits) throw new Error(`${colour} is not a colour like #12ab9f`);
  const value = Number.parseInt(digits, 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Colour `a` with a share of `b` mixed in. */
export function mix(a: string, b: string, share: number): string {
  const over = parseHex(b);
  const mixed = parseHex(a).map((part, i) => Math.round(part + (over[i]! - part) * share));
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Calls back when the reader's system changes between light and dark. */
export function onThemeChange(redraw: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
