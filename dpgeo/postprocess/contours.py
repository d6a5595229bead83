"""Density surfaces computed from noisy cells, and their contour lines and bands.

This is post-processing of noisy counts: choosing and drawing lines costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import contourpy
import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise
from dpgeo.postprocess.empirical_bayes import noise_kind
from dpgeo.postprocess.node_measurements import NodeMeasurements
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.partition_choice import even
from dpgeo.postprocess.pyramid import padded
from dpgeo.postprocess.surface import infer, quiet
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees

Floats = NDArray[np.float64]

KERNEL = np.array([0.25, 0.5, 0.25])
"""Weights of a cell and its neighbours along each axis when a surface is blurred."""

SQUARE_KILOMETRE = 1e6

DECIMALS = 7
"""Decimal places of coordinates in degrees, enough for about a centimetre on the ground."""


class Smoothing(StrEnum):
    """Methods to compute the density surface from noisy cells."""

    NONE = "none"
    BLURRED = "blurred"
    INFERRED = "inferred"


class Spacing(StrEnum):
    """Methods to choose the densities at which contour lines are drawn."""

    NOISE = "noise"
    DOUBLING = "doubling"
    EQUAL = "equal"


def make_surface(
    counts: NDArray[np.int64],
    noise: CountNoise,
    inside: NDArray[np.bool_],
    smoothing: Smoothing,
) -> Floats:
    """Compute expected counts (rows, columns), never negative, and 0 outside the study area.

    `inside` (rows, columns) marks the cells that intersect the study area. With NONE, the result is
    the nearest non-negative counts with the same total as the noisy counts. With BLURRED, each
    cell's count is first spread over its neighbours in the study area. With INFERRED, noisy counts
    are shrunk towards the values expected from their surroundings (`postprocess.surface`).
    """
    if smoothing is Smoothing.INFERRED:
        measurements = NodeMeasurements(padded(inside), noise_kind(noise))
        nodes = even(measurements, measurements.depth)
        measurements.add(nodes, padded(counts)[nodes[-1]], noise.scale)
        surface = quiet(measurements, infer(measurements)).cells
        return np.ascontiguousarray(surface[: counts.shape[0], : counts.shape[1]])
    values = np.where(inside, counts, 0).astype(np.float64)
    if smoothing is Smoothing.BLURRED:
        values = blurred(values, inside)
    surface = np.zeros(counts.shape)
    surface[inside] = non_negative(values[inside], np.ones(int(np.count_nonzero(inside))))
    return surface


def blurred(values: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Spread each cell's value over itself and its neighbours in the study area, keeping the
    total.
    """
    weights = _convolved(inside.astype(np.float64))
    shared = np.divide(values, weights, out=np.zeros_like(values), where=inside)
    return np.where(inside, _convolved(shared), 0.0)


def line_values(
    surface: Floats, noise: CountNoise, grid: Grid, spacing: Spacing, first: int, most: int
) -> Floats:
    """Return the densities (m,) per square kilometre at which to draw lines, in ascending order.

    There are at most `most` lines. With NOISE, the first line is the density that the noise of an
    empty cell reaches with a probability of at most 1/1000, and each further line is at twice the
    density of the one before. Otherwise the first line is `first`. With DOUBLING, each further line
    is at twice the density of the one before; with EQUAL, lines are `first` apart. Lines above the
    highest point of the surface are left out.
    """
    area = grid.ground_areas
    start = float(first)
    if spacing is Spacing.NOISE:
        start = noise.threshold() / float(area.mean()) * SQUARE_KILOMETRE
    steps = np.arange(most)
    values = start * (steps + 1.0 if spacing is Spacing.EQUAL else 2.0**steps)
    highest = float((surface / area[:, None]).max(initial=0.0)) * SQUARE_KILOMETRE
    return np.asarray(values[values < highest])


def draw_lines(
    surface: Floats, grid: Grid, values: Sequence[float], area: StudyArea
) -> NDArray[np.object_]:
    """Return the contour line of each density as a MultiLineString in degrees, shape (m,)."""
    generator = _generator(surface, grid)
    lines = [
        shapely.MultiLineString([_degrees(line) for line in generator.lines(value)])
        for value in values
    ]
    return _within(lines, area, shapely.MultiLineString)


def draw_bands(
    surface: Floats, grid: Grid, values: Sequence[float], area: StudyArea
) -> NDArray[np.object_]:
    """Return the bands between successive densities as MultiPolygons in degrees, shape (m,).

    The last band has no upper limit.
    """
    generator = _generator(surface, grid)
    uppers = [*values[1:], math.inf][: len(values)]
    bands = [
        shapely.transform(polygons_between(generator, low, high), _degrees)
        for low, high in zip(values, uppers, strict=True)
    ]
    return _within(bands, area, shapely.MultiPolygon)


def _generator(surface: Floats, grid: Grid) -> Any:
    """Return a contour generator for the density per square kilometre.

    The density is interpolated between the centres of cells. A border of empty cells around the
    grid closes every line that would otherwise leave the grid.
    """
    density = surface / grid.ground_areas[:, None] * SQUARE_KILOMETRE
    across = grid.west + (np.arange(-1, grid.columns + 1) + 0.5) * grid.cell
    down = grid.north - (np.arange(-1, grid.rows + 1) + 0.5) * grid.cell
    return contourpy.contour_generator(
        across,
        down[::-1],
        np.pad(density, 1)[::-1],
        name="serial",
        line_type=contourpy.LineType.Separate,
        fill_type=contourpy.FillType.OuterOffset,
    )


def polygons_between(generator: Any, low: float, high: float) -> Any:
    """Return the band between the values `low` and `high` as a MultiPolygon in grid coordinates."""
    points, offsets = generator.filled(low, high)
    if not points:
        return shapely.MultiPolygon()
    sizes = np.concatenate([np.diff(starts) for starts in offsets])
    rings = np.cumsum([0, *(len(starts) - 1 for starts in offsets)])
    polygons = shapely.from_ragged_array(
        shapely.GeometryType.POLYGON, np.concatenate(points), (np.cumsum([0, *sizes]), rings)
    )
    return shapely.MultiPolygon(list(polygons))


def _degrees(points: Floats) -> Floats:
    return np.column_stack(to_degrees(points[:, 0], points[:, 1])).round(DECIMALS)


def _within(shapes: Sequence[Any], area: StudyArea, kind: type[Any]) -> NDArray[np.object_]:
    """Clip shapes to the study area; return each as a multi-part geometry of class `kind`."""
    single = shapely.GeometryType.POLYGON
    if kind is shapely.MultiLineString:
        single = shapely.GeometryType.LINESTRING
    cut = np.empty(len(shapes), dtype=object)
    for index, shape in enumerate(shapes):
        # A band that touches itself at a point is invalid and must be repaired first.
        inside = shapely.intersection(shapely.make_valid(shape), area.shape)
        # The intersection may contain points and lines along the study area's border, so drop them.
        parts = shapely.get_parts(shapely.get_parts(inside))
        same_kind = parts[shapely.get_type_id(parts) == single]
        cut[index] = shapely.orient_polygons(kind(list(same_kind)))
    return cut


def _convolved(values: Floats) -> Floats:
    wide = np.pad(values, 1)
    rows = KERNEL[0] * wide[:-2] + KERNEL[1] * wide[1:-1] + KERNEL[2] * wide[2:]
    return np.asarray(
        KERNEL[0] * rows[:, :-2] + KERNEL[1] * rows[:, 1:-1] + KERNEL[2] * rows[:, 2:]
    )
