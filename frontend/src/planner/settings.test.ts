import { describe, expect, it } from "vitest";
import { fieldsOf, settingsOf } from "./settings";

describe("the planner's settings", () => {
  const fields = {
    total_reward: "40", target: "90", worker_share: "7", travel_metres: "3000",
    reward: "20",
  };

  it("are numbers, and shares from per cent; the reward of the radius map is none", () => {
    expect(settingsOf(fields)).toEqual({
      total_reward: 40, target: 0.9, worker_share: 0.07, travel_metres: 3000,
    });
  });

  it("come back to the form from a campaign without digits of rounding", () => {
    const { reward: _, ...rest } = fields;
    expect(fieldsOf(settingsOf(fields))).toEqual(rest);
    expect(fieldsOf({ target: 0.29 })).toEqual({ target: "29" });
  });
});
