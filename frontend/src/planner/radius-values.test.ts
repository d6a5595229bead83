import { describe, expect, it } from "vitest";
import { nearestPoint, type Points, valueAt } from "./radius-values";

const POINTS: Points = {
  longitude: [10, 11, 12],
  latitude: [50, 51],
  radius_metres: [
    [100, 200, null],
    [300, 400, null],
  ],
  notified: [
    [1, 2, null],
    [3, 4, null],
  ],
  reason: [
    [null, null, 0],
    [null, null, 1],
  ],
  reasons: [
    { reason: "nobody_near", explanation: "Nobody." },
    { reason: "out_of_reach", explanation: "Too far." },
  ],
};

describe("values of a radius map", () => {
  it("are interpolated between points", () => {
    expect(valueAt(POINTS, { longitude: 10.5, latitude: 50.5 }, true)).toEqual({ metres: 250, notified: 2.5 });
    expect(valueAt(POINTS, { longitude: 10, latitude: 51 }, true)).toEqual({ metres: 300, notified: 3 });
  });

  it("leave out points without a radius where the place is within reach", () => {
    expect(valueAt(POINTS, { longitude: 11.5, latitude: 50 }, true)).toEqual({ metres: 200, notified: 2 });
  });

  it("say the nearest reason where the place is out of reach", () => {
    expect(valueAt(POINTS, { longitude: 11.1, latitude: 50.9 }, false)).toEqual({ explanation: "Too far." });
    expect(valueAt(POINTS, { longitude: 12, latitude: 50.2 }, false)).toEqual({ explanation: "Nobody." });
  });

  it("are none where no point around is of the kind", () => {
    expect(valueAt(POINTS, { longitude: 12, latitude: 50.5 }, true)).toBeNull();
    expect(valueAt(POINTS, { longitude: 10.5, latitude: 50.5 }, false)).toBeNull();
  });

  it("are found across the antimeridian", () => {
    const across = { ...POINTS, longitude: [179, 180, 181] };
    expect(valueAt(across, { longitude: -179, latitude: 50 }, false)).toEqual({ explanation: "Nobody." });
    expect(nearestPoint(across, { longitude: -179.2, latitude: 50.6 })).toEqual({ row: 1, column: 2 });
  });
});
