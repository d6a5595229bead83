/** The name of a cell for a list: that of a place near it, or its position. */
import type { OpenSeries } from "../data/series-array";
import { toDegrees } from "../geometry/mercator";
import { formatPosition } from "../ui/format";
import { t } from "../ui/translate";

/** A place is near whose distance is at most that of this many cells. */
const NEAR = 6;

export function placeName({ release, scene }: OpenSeries, region: number): string {
  const { grid } = release;
  if (!grid) return "";
  const [layer] = release.layers;
  const box = layer && "boxes" in layer ? layer.boxes?.subarray(4 * region, 4 * region + 4) : null;
  const row = box ? box[0]! : Math.floor(region / grid.columns);
  const column = box ? box[2]! : region % grid.columns;
  const middle = toDegrees(grid.west + (column + 0.5) * grid.cell, grid.north - (row + 0.5) * grid.cell);
  const position = formatPosition(middle.longitude, middle.latitude);
  const size = toDegrees(grid.west + grid.cell, 0).longitude - toDegrees(grid.west, 0).longitude;
  const narrow = Math.cos((middle.latitude * Math.PI) / 180);
  let [nearest, least] = ["", NEAR * size];
  for (const { name, kind, at: [longitude, latitude] } of scene.basemap.names ?? []) {
    const distance = Math.hypot(longitude - middle.longitude, (latitude - middle.latitude) / narrow);
    if (kind !== "country" && distance < least) [nearest, least] = [name, distance];
  }
  return nearest ? t("near {name}, {position}", { name: nearest, position }) : position;
}
