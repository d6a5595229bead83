/** The hatch as a pattern of the map library, which fills shapes with it. */
import type { Map as MapLibre } from "maplibre-gl";
import { HATCH_PITCH, hatchPattern } from "../canvas/hatch";

/**
 * The pixel ratio with which a hatch of `side` pixels is as fine as the hatch of squares. Between two
 * whole zooms the library magnifies patterns up to twice, so they are made smaller by as much.
 */
export function hatchRatio(side: number, zoom: number): number {
  return (side / HATCH_PITCH) * 2 ** (zoom - Math.floor(zoom));
}

export class HatchImage {
  private colour = "";

  constructor(
    private readonly map: MapLibre,
    private readonly name: string,
    colour: string,
  ) {
    this.paint(colour);
    map.on("zoomend", this.renew);
  }

  paint(colour: string): void {
    if (colour === this.colour) return;
    this.colour = colour;
    this.renew();
  }

  remove(): void {
    this.map.off("zoomend", this.renew);
    this.map.removeImage(this.name);
  }

  private readonly renew = (): void => {
    const image = hatchPattern(this.colour, devicePixelRatio);
    if (this.map.hasImage(this.name)) this.map.removeImage(this.name);
    this.map.addImage(this.name, image, { pixelRatio: hatchRatio(image.width, this.map.getZoom()) });
  };
}
