"""Subtraction of the sea and large lakes from a study area, before there are data.

The result depends only on this site's basemaps, on Natural Earth's land and on the area, all of
which are public. Water near a shore stays in the area, because quays, moorings and inexact
positions lie there, and because the sources are inexact too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from dpgeo.ground.archives import layer_names, metadata, tile_at
from dpgeo.ground.regions import Bounds, Region
from dpgeo.spatial.area import StudyArea, ground_square_kilometres
from dpgeo.spatial.projection import (
    MERCATOR_RADIUS_METRES,
    ground_scale,
    to_degrees,
    to_mercator,
)

MIN_KM2 = 1.0
"""Area in square kilometres of the smallest water that is cut out of a study area."""

SHORE_METRES = 100.0
COARSE_SHORE_METRES = 2000.0
"""Width of the water along shores that stays in the area.

SHORE_METRES is for water in basemaps, and COARSE_SHORE_METRES for the sea of Natural Earth.
"""

MAX_TILES = 300
"""Largest number of tiles read from a region; for larger areas, tiles of a lower zoom are read."""

TILE_UNITS = 4096
COARSENESS = 8
"""Largest distance, in tile units, by which the outlines in tiles may have been simplified."""

LAKES = frozenset({"water", "reservoir", "lake", "lagoon", "basin", "ocean", "sea", "bay"})
"""Kinds of water that are cut out of a study area.

Rivers, canals and docks stay, with the bridges over them.
"""

MAX_CORNERS = 15_000

AROUND_METRES = 5000.0

SEAM_METRES = 1.0
"""Widest gap between the parts of a lake or sea that is split between two tiles."""

NATURAL_EARTH = "Natural Earth, 1:10m (the sea alone, no lakes)"


@dataclass(slots=True)
class Water:
    """Shapes of water in Web Mercator metres, and the names of their sources."""

    shapes: list[shapely.Geometry] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    def add(self, shape: shapely.Geometry, source: str) -> None:
        """Add a piece of water and its source, even if the piece is empty."""
        if source not in self.sources:
            self.sources.append(source)
        if not shape.is_empty:
            self.shapes.append(shape)


def subtract_water(
    area: StudyArea, folder: Path, regions: Sequence[Region], land: Any
) -> tuple[StudyArea | None, list[str]]:
    """Return an area without the sea and large lakes, and the names of the sources.

    The area is None if nothing is left. `regions` are the basemap regions in `folder`. `land` holds
    Natural Earth's polygons (n,) in degrees; where no basemap shows the sea, everything outside
    these polygons is sea. If `land` is empty, there is no sea there.
    """
    whole = _projected(area.shape)
    water, rest = Water(), _surroundings(whole)
    for region in regions:
        part = shapely.intersection(rest, _projected(shapely.box(*region.bounds)))
        if part.area <= 0:
            continue
        layers = _water_layers(folder, region)
        source = f"OpenStreetMap, {region.date}" if region.date else "OpenStreetMap"
        lakes, coarseness = _clip_water(folder, region, layers, part)
        water.add(_from_shore(lakes, max(SHORE_METRES, coarseness), part), source)
        if "ocean" in layers:
            rest = shapely.difference(rest, part)
    if rest.area > 0 and len(land):
        sea = shapely.difference(rest, _land_in(land, rest))
        water.add(_from_shore(sea, COARSE_SHORE_METRES, rest), NATURAL_EARTH)
    left = _without(area.shape, shapely.union_all(water.shapes))
    return (None if left is None else StudyArea(left)), water.sources


def _surroundings(whole: shapely.Geometry) -> shapely.Geometry:
    """Return a larger box around an area, in which lakes are measured and shores are found."""
    west, south, east, north = whole.bounds
    beyond = AROUND_METRES + max(east - west, north - south) / 20
    return shapely.box(west - beyond, south - beyond, east + beyond, north + beyond)


def _water_layers(folder: Path, region: Region) -> list[str]:
    there = layer_names(metadata(region.tiles_file(folder)))
    return [each for each in ("ocean", "water_polygons") if each in there]


def _clip_water(
    folder: Path, region: Region, layers: Sequence[str], part: shapely.Geometry
) -> tuple[shapely.Geometry, float]:
    """Return a region's water within the area `part`, and how coarse its outline is, in metres."""
    import pyogrio

    zoom = _zoom(region, part)
    path = region.tiles_file(folder)
    shapes = []
    for layer in layers:
        _, _, encoded, values = pyogrio.raw.read(
            path, layer=layer, columns=["kind"], bbox=part.bounds, ZOOM_LEVEL=zoom
        )
        kinds = values[0] if values else ["ocean"] * len(encoded)
        shapes += [
            shapely.make_valid(shapely.from_wkb(each))
            for each, kind in zip(encoded, kinds, strict=True)
            if layer == "ocean" or kind in LAKES
        ]
    # Widen the pieces in neighbouring tiles a little, so that they join.
    joined = shapely.buffer(shapely.union_all(shapes), SEAM_METRES, join_style="mitre")
    pixel = 2 * math.pi * MERCATOR_RADIUS_METRES / 2**zoom / TILE_UNITS
    return shapely.intersection(joined, part), COARSENESS * pixel


def _zoom(region: Region, part: shapely.Geometry) -> int:
    """Return the region's highest zoom at which at most MAX_TILES tiles cover an area.

    `part` is the area, in Web Mercator metres. If more tiles are needed at every zoom, the lowest
    zoom is returned.
    """
    west, south, east, north = _in_degrees(part).bounds
    for zoom in range(region.zooms[1], region.zooms[0], -1):
        left, top = tile_at(west, north, zoom)
        right, bottom = tile_at(east, south, zoom)
        if (right - left + 1) * (bottom - top + 1) <= MAX_TILES:
            return zoom
    return region.zooms[0]


def _land_in(land: Any, part: shapely.Geometry) -> shapely.Geometry:
    around = shapely.box(*_in_degrees(part).buffer(0.1).bounds)
    near = land[shapely.intersects(land, around)]
    return shapely.union_all([_projected(each) for each in _clipped(near, around.bounds)])


def _clipped(shapes: Any, bounds: Bounds) -> Iterator[shapely.Geometry]:
    for each in shapely.make_valid(shapely.clip_by_rect(shapes, *bounds)):
        yield from _polygons(each)


def _from_shore(
    water: shapely.Geometry, metres: float, within: shapely.Geometry
) -> shapely.Geometry:
    """Return the large waters without a strip of `metres` along their shores.

    The edge of `within` does not count as a shore.
    """
    parts = (each for each in _polygons(water) if _square_kilometres(each) >= MIN_KM2)
    large = shapely.union_all(list(parts))
    strip = metres / _least_scale(within)
    return shapely.difference(large, shapely.buffer(shapely.difference(within, large), strip))


def _without(whole: shapely.Geometry, water: shapely.Geometry) -> shapely.Geometry | None:
    """Return an area in degrees with the water cut out, or None if nothing is left.

    The water's outline is simplified until the result has few enough vertices.
    """
    tolerance = SHORE_METRES / 10
    plain = shapely.simplify(water, tolerance)
    most = max(MAX_CORNERS, 2 * shapely.get_num_coordinates(whole))
    while True:
        wet = shapely.make_valid(_in_degrees(plain))
        if not shapely.intersects(whole, wet):
            return whole
        parts = list(_polygons(shapely.difference(whole, wet)))
        if not parts:
            return None
        if sum(map(shapely.get_num_coordinates, parts)) <= most:
            return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)
        tolerance *= 2
        # Shrink the water first, since a simplified outline may lie on either side of the true one.
        plain = shapely.simplify(shapely.buffer(water, -tolerance), tolerance)


def _polygons(shape: shapely.Geometry) -> Iterator[shapely.Geometry]:
    for part in shapely.get_parts(shape):
        if part.geom_type == "Polygon" and not part.is_empty:
            yield part
        elif part.geom_type == "MultiPolygon":
            yield from shapely.get_parts(part)


def _square_kilometres(shape: shapely.Geometry) -> float:
    return float(ground_square_kilometres(_in_degrees(shape)))


def _least_scale(shape: shapely.Geometry) -> float:
    """Return the least number of ground metres per Web Mercator metre within a shape."""
    _, south, _, north = _in_degrees(shape).bounds
    return ground_scale(max(abs(south), abs(north)))


def _projected(shape: shapely.Geometry) -> shapely.Geometry:
    return shapely.transform(shape, lambda at: np.column_stack(to_mercator(at[:, 0], at[:, 1])))


def _in_degrees(shape: shapely.Geometry) -> shapely.Geometry:
    return shapely.transform(shape, lambda at: np.column_stack(to_degrees(at[:, 0], at[:, 1])))
