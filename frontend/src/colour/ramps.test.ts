import {
  clampRgb,
  converter,
  differenceCiede2000,
  filterDeficiencyDeuter,
  filterDeficiencyProt,
  filterDeficiencyTrit,
  wcagContrast,
  type Lrgb,
  type Rgb,
} from "culori";
import { describe, expect, it } from "vitest";
import tokens from "../ui/tokens.css?raw";
import { STEPS } from "./classes";
import { mix, parseHex, RAMPS } from "./ramps";

const THEMES = ["light", "dark"] as const;
const [light, dark] = tokens.split("@media (prefers-color-scheme: dark)");

function token(name: string, theme: (typeof THEMES)[number]): string {
  const found = new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(theme === "dark" ? dark! : light!);
  if (!found) throw new Error(`there is no token --${name}`);
  return found[1]!;
}

const VISIONS = {
  none: (colour: Rgb) => colour,
  protanopia: filterDeficiencyProt(1),
  deuteranopia: filterDeficiencyDeuter(1),
  tritanopia: filterDeficiencyTrit(1),
};

type Vision = keyof typeof VISIONS;

/** A colour as it is seen: the matrices are for linear light, the library applies them to sRGB. */
function simulate(hex: string, vision: Vision): Lrgb {
  const light: Rgb = { ...converter("lrgb")(hex)!, mode: "rgb" };
  return { ...(clampRgb(VISIONS[vision](light)) as Rgb), mode: "lrgb" };
}

function difference(one: string, other: string, vision: Vision): number {
  return differenceCiede2000()(simulate(one, vision), simulate(other, vision));
}

const visions = Object.keys(VISIONS) as Vision[];
const kinds = THEMES.flatMap((theme) =>
  RAMPS.flatMap((ramp) => visions.map((vision) => [theme, ramp, vision] as const)),
);

describe("colour differences", () => {
  it("are those of CIEDE2000", () => {
    // Black and white, and red and green, are well-known values of sRGB.
    expect(difference("#000000", "#ffffff", "none")).toBeCloseTo(100, 1);
    expect(difference("#ff0000", "#ff0000", "none")).toBe(0);
    expect(difference("#ff0000", "#00ff00", "none")).toBeCloseTo(86.6, 0);
    expect(difference("#ff0000", "#a07000", "protanopia")).toBeLessThan(
      difference("#ff0000", "#a07000", "none"),
    );
  });
});

describe("the ramps", () => {
  it.each(kinds)("%s %s has steps that differ for readers with %s", (theme, ramp, vision) => {
    const steps = Array.from({ length: STEPS }, (_, step) => token(`${ramp}-${step}`, theme));
    for (let step = 1; step < STEPS; step++) {
      expect(difference(steps[step - 1]!, steps[step]!, vision)).toBeGreaterThanOrEqual(10);
    }
    expect(difference(token("map-land", theme), steps[0]!, vision)).toBeGreaterThan(7);
  });

  it.each(THEMES)("stand on %s land that the hatch is seen on", (theme) => {
    expect(wcagContrast(token("map-hatch", theme), token("map-land", theme))).toBeGreaterThanOrEqual(3);
  });
});

describe("colours", () => {
  it("are mixed and read, and refused where they are no colour", () => {
    expect(mix("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(parseHex("#fb0")).toEqual([255, 187, 0]);
    expect(() => parseHex("red")).toThrow("red");
  });
});
