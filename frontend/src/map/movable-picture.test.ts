import { expect, it } from "vitest";
import { followed, type Shift } from "./movable-picture";

const FROM = { x: 10, y: 20 };

/** Where a point of the unshifted picture is seen. */
const seen = ({ x, y, scale }: Shift, point: { x: number; y: number }): { x: number; y: number } => ({
  x: FROM.x + x + (point.x - FROM.x) * scale,
  y: FROM.y + y + (point.y - FROM.y) * scale,
});

it("moves with one finger", () => {
  const shift = followed({ x: 5, y: 0, scale: 2 }, FROM, [{ x: 50, y: 60 }], [{ x: 43, y: 75 }]);
  expect(shift).toEqual({ x: -2, y: 15, scale: 2 });
});

it("keeps what lies under two fingers there while they spread and move", () => {
  const before = [{ x: 40, y: 60 }, { x: 80, y: 60 }];
  const after = [{ x: 30, y: 70 }, { x: 110, y: 70 }];
  const shift = followed({ x: 0, y: 0, scale: 1 }, FROM, before, after);
  expect(shift.scale).toBe(2);
  before.forEach((point, at) => expect(seen(shift, point)).toEqual(after[at]));
});

it("is neither smaller than at first nor larger than there is to see", () => {
  const [near, far] = [[{ x: 0, y: 0 }, { x: 10, y: 0 }], [{ x: 0, y: 0 }, { x: 500, y: 0 }]];
  expect(followed({ x: 0, y: 0, scale: 1 }, FROM, far!, near!)).toMatchObject({ scale: 1 });
  expect(followed({ x: 0, y: 0, scale: 1 }, FROM, near!, far!)).toMatchObject({ scale: 8 });
});
