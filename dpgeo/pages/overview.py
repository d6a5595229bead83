"""Overview map of study areas, as numbers for an SVG that needs no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import shapely

from dpgeo.datasets.dry_land import land_file
from dpgeo.spatial.land import land_polygons
from dpgeo.spatial.projection import MAX_LATITUDE, to_degrees, to_mercator

WIDTH, HEIGHT = 240, 150
"""Width and height of the overview picture in SVG units."""

ROOM = 0.25
"""Margin on each side, as a fraction of the longer side of the box around all areas."""

MIN_SIDE = 20_000.0
"""Shortest side, in Web Mercator metres, of which the margin is computed as the share `ROOM`."""

MIN_FONT_SIZE = 7.0
"""Smallest side of a rectangle in SVG units, so that it can be seen and clicked."""

Bounds = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """The rectangle of a study area in the picture; `query` is the query string of its link."""

    x: float
    y: float
    width: float
    height: float
    query: str
    words: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The land as an SVG path, the study areas, and the one selected as a filter."""

    land: str
    areas: tuple[Rectangle, ...]
    chosen: Rectangle | None
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class _Frame:
    west: float
    north: float
    per_unit: float

    def place(self, bounds: Bounds) -> Rectangle:
        (left, right), (low, top) = _plane(bounds)
        x, y = (left - self.west) / self.per_unit, (self.north - top) / self.per_unit
        width, height = (right - left) / self.per_unit, (top - low) / self.per_unit
        grow_x, grow_y = max(0.0, MIN_FONT_SIZE - width), max(0.0, MIN_FONT_SIZE - height)
        west, south, east, north = bounds
        return Rectangle(
            round(x - grow_x / 2, 1),
            round(y - grow_y / 2, 1),
            round(width + grow_x, 1),
            round(height + grow_y, 1),
            "",
            f"{south:.2f} to {north:.2f} north, {west:.2f} to {east:.2f} east",
        )


def overview(areas: Sequence[tuple[Bounds, str]], chosen: Bounds | None) -> Overview:
    """Draw study areas, each with the query string of its link, from public inputs only."""
    frame, boxes = _placed(tuple(bounds for bounds, _ in areas))
    linked = [replace(box, query=query) for box, (_, query) in zip(boxes, areas, strict=True)]
    # Draw large rectangles first, so that they do not cover smaller ones and block clicks.
    linked.sort(key=lambda box: -box.width * box.height)
    return Overview(_land(frame), tuple(linked), frame.place(chosen) if chosen else None)


@lru_cache(maxsize=4)
def _placed(areas: tuple[Bounds, ...]) -> tuple[_Frame, tuple[Rectangle, ...]]:
    """Return the frame of the picture of study areas, and the areas' rectangles without links.

    The result is cached. It depends on public areas alone, and holds nothing that a reader typed.
    """
    frame = _frame(areas)
    return frame, tuple(frame.place(bounds) for bounds in areas)


def _frame(areas: Sequence[Bounds]) -> _Frame:
    planes = [_plane(bounds) for bounds in areas]
    left, right = min(x[0] for x, _ in planes), max(x[1] for x, _ in planes)
    low, top = min(y[0] for _, y in planes), max(y[1] for _, y in planes)
    room = ROOM * max(right - left, top - low, MIN_SIDE)
    per_unit = max((right - left + 2 * room) / WIDTH, (top - low + 2 * room) / HEIGHT)
    return _Frame(
        west=(left + right - WIDTH * per_unit) / 2,
        north=(low + top + HEIGHT * per_unit) / 2,
        per_unit=per_unit,
    )


def _plane(bounds: Bounds) -> tuple[tuple[float, float], tuple[float, float]]:
    west, south, east, north = bounds
    latitudes = [max(-MAX_LATITUDE, south), min(MAX_LATITUDE, north)]
    x, y = to_mercator([west, east], latitudes)
    return (float(x[0]), float(x[1])), (float(y[0]), float(y[1]))


@lru_cache(maxsize=64)
def _land(frame: _Frame) -> str:
    east = frame.west + WIDTH * frame.per_unit
    south = frame.north - HEIGHT * frame.per_unit
    lon, lat = to_degrees([frame.west, east], [south, frame.north])
    window = (float(lon[0]), float(lat[0]), float(lon[1]), float(lat[1]))
    polygons = land_polygons(land_file())
    near = polygons[shapely.intersects(polygons, shapely.box(*window))]
    detail = (window[2] - window[0]) / WIDTH / 2
    clipped = shapely.simplify(shapely.clip_by_rect(near, *window), detail)
    parts = shapely.get_parts(clipped)
    rings = shapely.get_rings([part for part in parts if part.geom_type == "Polygon"])
    return "".join(_path(ring, frame) for ring in rings)


def _path(ring: shapely.LinearRing, frame: _Frame) -> str:
    points = shapely.get_coordinates(ring)
    x, y = to_mercator(points[:, 0], points[:, 1])
    across, down = (x - frame.west) / frame.per_unit, (frame.north - y) / frame.per_unit
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, down, strict=True)) + "Z"
