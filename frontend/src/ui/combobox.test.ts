import { expect, test } from "vitest";
import { stepTo } from "./combobox";

test("arrows go round through the options and the box", () => {
  expect([-1, 0, 1].map((at) => stepTo("ArrowDown", at, 2))).toEqual([0, 1, -1]);
  expect([-1, 1, 0].map((at) => stepTo("ArrowUp", at, 2))).toEqual([1, 0, -1]);
  expect(stepTo("a", 1, 2)).toBe(1);
});
