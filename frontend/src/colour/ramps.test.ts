import { describe, expect, it } from "vitest";
import tokens from "../ui/tokens.css?raw";
import { STEPS } from "./classes";
import { contrast, DEFICIENCIES, type Deficiency, difference } from "./colour-difference";
import { mix, parseHex, RAMPS } from "./ramps";

const THEMES = ["light", "dark"] as const;
const [light, dark] = tokens.split("@media (prefers-color-scheme: dark)");

function token(name: string, theme: (typeof THEMES)[number]): string {
  const found = new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(theme === "dark" ? dark! : light!);
  if (!found) throw new Error(`there is no token --${name}`);
  return found[1]!;
}

const kinds = THEMES.flatMap((theme) =>
  RAMPS.flatMap((ramp) => DEFICIENCIES.map((seen) => [theme, ramp, seen] as const)),
);

describe("colour differences", () => {
  it("are those of CIEDE2000", () => {
    // Black and white, and red and green, are well-known values of sRGB.
    expect(difference("#000000", "#ffffff", "none")).toBeCloseTo(100, 1);
    expect(difference("#ff0000", "#ff0000", "none")).toBe(0);
    expect(difference("#ff0000", "#00ff00", "none")).toBeCloseTo(86.6, 0);
    expect(difference("#ff0000", "#a07000", "protanopia" as Deficiency)).toBeLessThan(
      difference("#ff0000", "#a07000", "none"),
    );
  });
});

describe("the ramps", () => {
  it.each(kinds)("%s %s has steps that differ for readers with %s", (theme, ramp, seen) => {
    const steps = Array.from({ length: STEPS }, (_, step) => token(`${ramp}-${step}`, theme));
    for (let step = 1; step < STEPS; step++) {
      expect(difference(steps[step - 1]!, steps[step]!, seen)).toBeGreaterThanOrEqual(10);
    }
    expect(difference(token("map-land", theme), steps[0]!, seen)).toBeGreaterThan(7);
  });

  it.each(THEMES)("stand on %s land that the hatch is seen on", (theme) => {
    expect(contrast(token("map-hatch", theme), token("map-land", theme))).toBeGreaterThanOrEqual(3);
  });
});

describe("colours", () => {
  it("are mixed and read, and refused where they are no colour", () => {
    expect(mix("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(parseHex("#fb0")).toEqual([255, 187, 0]);
    expect(() => parseHex("red")).toThrow("red");
  });
});
