import { describe, expect, it } from "vitest";
import { arrowLength, arrowOutline, directionOf } from "./arrows";

describe("arrows of a flow field", () => {
  it("point where their bearing says", () => {
    const tip = (bearing: number) => arrowOutline({ x: 10, y: 20 }, bearing, 2)[3]!;
    expect(tip(0)).toEqual({ x: 10, y: 21 });
    expect(tip(90).x).toBeCloseTo(11);
    expect(tip(90).y).toBeCloseTo(20);
    expect(tip(225).x).toBeCloseTo(10 - Math.SQRT1_2);
  });

  it("grow in area with the strength, and are nothing without any", () => {
    expect(arrowLength(4, 4, 100)).toBe(90);
    expect(arrowLength(1, 4, 100)).toBe(45);
    expect(arrowLength(0, 4, 100)).toBe(0);
    expect(arrowLength(0, 0, 100)).toBe(0);
  });

  it("are told by the nearest of eight directions", () => {
    expect([0, 22, 23, 350].map(directionOf)).toEqual(["north", "north", "north-east", "north"]);
  });
});
