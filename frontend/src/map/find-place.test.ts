import { expect, test } from "vitest";
import { labelOf } from "./find-place";

test("streets of one name are told apart by their municipality", () => {
  const box: [number, number, number, number] = [9, 47, 10, 48];
  const street = { name: "Landstrasse", kind: "street", within: "Vaduz", box };
  expect(labelOf(street)).toBe("Landstrasse, street, Vaduz");
  expect(labelOf({ ...street, name: "Vaduz", kind: "capital", within: "" })).toBe("Vaduz, capital");
});
