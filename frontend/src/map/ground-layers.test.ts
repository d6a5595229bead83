/** Names on the map stay legible over every class of every ramp: their halo parts them from it. */
import { parse, wcagContrast } from "culori";
import type { SymbolLayerSpecification } from "maplibre-gl";
import { describe, expect, it, vi } from "vitest";
import type { Palette } from "../colour/ramps";
import tokens from "../ui/tokens.css?raw";

vi.stubGlobal("location", { href: "http://localhost/" }); // against which fonts are addressed
const { groundLayers, nameLayers } = await import("./ground-layers");

const THEMES = ["light", "dark"] as const;
const SHEETS = tokens.split("@media (prefers-color-scheme: dark)");

/** The least contrast of small letters in WCAG 2.2, and the narrowest halo that keeps a map's colours off them. */
const LEAST_CONTRAST = 4.5;
const LEAST_HALO = 1.5;

function token(name: string, theme: (typeof THEMES)[number]): string {
  const found = new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(SHEETS[THEMES.indexOf(theme)]!);
  if (!found) throw new Error(`there is no token --${name}`);
  return found[1]!;
}

type Label = { id: string; type: string; paint: Record<string, unknown> };

function labels(theme: (typeof THEMES)[number]): Label[] {
  const palette = {
    ink: token("ink", theme),
    label: token("ink-2", theme),
    waterLabel: token("map-water-label", theme),
    water: token("map-water", theme),
    waterline: token("map-waterline", theme),
  } as Palette;
  const { over } = groundLayers("ground-0", palette, theme === "dark", "en");
  const all = [...over, ...nameLayers("names", palette, theme === "dark")];
  return (all as unknown as Label[]).filter(({ type }) => type === "symbol");
}

describe.each(THEMES)("names in the %s theme", (theme) => {
  it.each(labels(theme).map((each) => [each.id, each.paint] as const))("%s stands out from its halo", (_, paint) => {
    const contrast = wcagContrast(parse(String(paint["text-color"]))!, parse(String(paint["text-halo-color"]))!);
    expect(contrast).toBeGreaterThanOrEqual(LEAST_CONTRAST);
    expect(paint["text-halo-width"]).toBeGreaterThanOrEqual(LEAST_HALO);
  });
});

describe("names on the ground", () => {
  it.each(["de", "en"])("are those of the page's language (%s), else the usual ones", (language) => {
    const { over } = groundLayers("ground-0", { ink: "#000000" } as Palette, false, language);
    const written = over
      .filter((each): each is SymbolLayerSpecification => each.type === "symbol")
      .map(({ layout }) => JSON.stringify(layout?.["text-field"]));
    expect(written.length).toBeGreaterThan(5);
    const wanted = JSON.stringify(["coalesce", ["get", `name_${language}`], ["get", "name"]]);
    for (const each of written) expect(each).toBe(wanted);
  });
});
