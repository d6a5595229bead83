/** Paths of shapes in degrees, for 2D canvases and SVG. */
import type { Geometry, Position } from "geojson";
import { type Corner, pixelOf } from "../geometry/place";

export function shapePath(geometry: Geometry, corner: Corner): Path2D {
  const shape = new Path2D();
  const closed = geometry.type.endsWith("Polygon");
  for (const line of lines(geometry)) {
    line.forEach(([longitude, latitude], index) => {
      const { x, y } = pixelOf(corner, { longitude: longitude!, latitude: latitude! });
      if (index) shape.lineTo(x, y);
      else shape.moveTo(x, y);
    });
    if (closed) shape.closePath();
  }
  return shape;
}

/** A shape as the text of an SVG path; `place` gives the pixel of a position in degrees. */
export function pathData(
  geometry: Geometry,
  place: (longitude: number, latitude: number) => { x: number; y: number },
): string {
  const closing = geometry.type.endsWith("Polygon") ? "Z" : "";
  return lines(geometry)
    .map((line) => {
      const points = line.map(([longitude, latitude]) => {
        const { x, y } = place(longitude!, latitude!);
        return `${x.toFixed(1)} ${y.toFixed(1)}`;
      });
      return `M${points.join("L")}${closing}`;
    })
    .join("");
}

function lines(geometry: Geometry): Position[][] {
  switch (geometry.type) {
    case "Polygon":
    case "MultiLineString":
      return geometry.coordinates;
    case "MultiPolygon":
      return geometry.coordinates.flat();
    case "LineString":
      return [geometry.coordinates];
    default:
      return [];
  }
}
