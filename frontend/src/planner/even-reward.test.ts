import { describe, expect, it } from "vitest";
import { evenReward } from "./even-reward";
import type { Task } from "./tasks";

const task = (reward: Task["reward"]): Task => ({ name: "", longitude: 0, latitude: 0, reward });

describe("the reward of the radius map", () => {
  it("is the even part of the total for tasks without a reward of their own", () => {
    expect(evenReward([task(null), task(null)], 30)).toBe(15);
    expect(evenReward([task(null), task(null), task(10)], 30)).toBe(10);
  });

  it("is open where no task has a part of the total, or nothing is left of it", () => {
    expect(evenReward([], 30)).toBeNull();
    expect(evenReward([task(5)], 30)).toBeNull();
    expect(evenReward([task(40), task(null)], 30)).toBeNull();
  });

  it("does not count a fixed reward that is no number", () => {
    expect(evenReward([task("seven"), task(null)], 30)).toBe(30);
  });
});
