import { describe, expect, it } from "vitest";
import { graduation } from "./neatline";

describe("the neatline", () => {
  it("is graduated in round degrees", () => {
    expect(graduation(0.001)).toBe(0.05);
  });
});
