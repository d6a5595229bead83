import { describe, expect, it } from "vitest";
import { type Bounds, fit, fitBeside, pixelOf, placeOf, roundView, viewOf } from "./place";

describe("a view", () => {
  it("is rounded to a hundredth of a pixel", () => {
    const view = { zoom: 17.123456, latitude: 55.66012812345, longitude: 12.58 };
    expect(roundView(view)).toEqual({ zoom: 17.123, latitude: 55.66012812, longitude: 12.58 });
    expect(roundView(roundView(view))).toEqual(roundView(view));
  });
});

describe("the view that a map opens on", () => {
  const bounds: Bounds = [10, 50, 10.5, 50.2];
  const corners = (place: ReturnType<typeof fit>) => [
    pixelOf(place, { longitude: bounds[0], latitude: bounds[3] }),
    pixelOf(place, { longitude: bounds[2], latitude: bounds[1] }),
  ];

  it("fills what is left beside or above a covered corner, whichever is more", () => {
    const [, low] = corners(fitBeside(bounds, 1000, 600, { width: 400, height: 120 }, 20));
    expect(low!.y).toBeLessThanOrEqual(600 - 120 - 20 + 1e-6);
    const [high] = corners(fitBeside(bounds, 1000, 400, { width: 200, height: 300 }, 20));
    expect(high!.x).toBeGreaterThanOrEqual(220 - 1e-6);
  });

  it("is centred where the covered corner is free anyway", () => {
    const tall: Bounds = [10, 50, 10.1, 50.5];
    const place = fitBeside(tall, 1000, 600, { width: 300, height: 150 }, 20);
    expect(place).toEqual(fit(tall, 1000, 600, 20));
  });

  it("is centred where nothing is covered, and shows something where all is", () => {
    expect(fitBeside(bounds, 800, 600, { width: 0, height: 0 }, 20)).toEqual(fit(bounds, 800, 600, 20));
    expect(fitBeside(bounds, 300, 200, { width: 290, height: 190 }, 20).perPixel).toBeGreaterThan(0);
  });

  it("lies below a strip at the top, such as the box for places on phones", () => {
    const place = fitBeside(bounds, 390, 260, { width: 0, height: 0 }, 20, 60);
    const [high, low] = corners(place);
    expect(place.height).toBe(260);
    expect(high!.y).toBeGreaterThanOrEqual(80 - 1e-6);
    expect(low!.y).toBeLessThanOrEqual(240 + 1e-6);
    expect(high!.y + low!.y).toBeCloseTo(60 + 260, 6);
  });

  it("is the same as a view", () => {
    const place = fit(bounds, 800, 600, 20);
    const again = placeOf(viewOf(place), 800, 600);
    expect(again.perPixel).toBeCloseTo(place.perPixel, 9);
    expect(again.west).toBeCloseTo(place.west, 4);
    expect(again.north).toBeCloseTo(place.north, 4);
  });
});
