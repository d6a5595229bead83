import { describe, expect, it } from "vitest";
import { epsilonAt } from "./request";

describe("the slider of epsilon", () => {
  it("offers all that is left, to the last decimal", () => {
    expect(epsilonAt(200, "1.234567")).toBe("1.234567");
  });

  it("offers short figures in between", () => {
    expect(epsilonAt(100, "2")).toBe("1");
    expect(epsilonAt(50, "1.234567")).toBe("0.309");
  });

  it.each(["0.0005", "0.123456", "1.234567", "999.999999"])("never exceeds %s", (all) => {
    for (let step = 1; step < 200; step++) {
      const offered = epsilonAt(step, all);
      expect(Number(offered)).toBeLessThanOrEqual(Number(all));
      expect(offered).toMatch(/^\d+(\.\d{1,6})?$/);
    }
  });
});
