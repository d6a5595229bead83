import { describe, expect, it } from "vitest";
import { fieldsOf, settingsOf } from "./settings";

describe("the planner's settings", () => {
  const fields = {
    total_reward: "40", target: "90", worker_share: "7", travel_metres: "3000",
    model: "field", density: "bilinear", allocation: "optimal", geocast: "on",
  };

  it("are numbers, shares from per cent, and words; what is asked for is no setting", () => {
    expect(settingsOf(fields)).toEqual({
      total_reward: 40, target: 0.9, worker_share: 0.07, travel_metres: 3000, model: "field", density: "bilinear",
    });
  });

  it("come back to the form from a campaign without digits of rounding", () => {
    const { allocation: _, geocast: __, ...rest } = fields;
    expect(fieldsOf(settingsOf(fields))).toEqual(rest);
    expect(fieldsOf({ target: 0.29, allocation: "optimal" })).toEqual({ target: "29", allocation: "optimal" });
  });
});
