"""Surfaces of noisy cells, and the lines and bands of equal density drawn on them.

Post-processing of paid counts: which lines there are and where they run costs no privacy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import contourpy
import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.node_measurements import Evidence
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
"""Of a degree: a centimetre on the ground."""


class Smoothing(StrEnum):
    """How the surface follows from the noisy cells."""

    NONE = "none"
    BLURRED = "blurred"
    INFERRED = "inferred"


class Spacing(StrEnum):
    """How contour lines are chosen."""

    NOISE = "noise"
    DOUBLING = "doubling"
    EQUAL = "equal"


def make_surface(
    counts: NDArray[np.int64],
    noise: DiscreteLaplace,
    inside: NDArray[np.bool_],
    smoothing: Smoothing,
) -> Floats:
    """Expected counts (rows, columns) of noisy cells, never negative, 0 outside the study area.

    Unsmoothed, they are the non-negative counts nearest to the noisy ones of the same total;
    blurred, each cell first shares its count with the neighbours inside; inferred, noisy cells are
    shrunk towards what their surroundings let one expect (see `surface`).
    """
    if smoothing is Smoothing.INFERRED:
        evidence = Evidence(padded(inside))
        nodes = even(evidence, evidence.depth)
        evidence.add(nodes, padded(counts)[nodes[-1]], 1 / float(noise.rate))
        found = quiet(evidence, infer(evidence)).cells
        return np.ascontiguousarray(found[: counts.shape[0], : counts.shape[1]])
    values = np.where(inside, counts, 0).astype(np.float64)
    if smoothing is Smoothing.BLURRED:
        values = blurred(values, inside)
    surface = np.zeros(counts.shape)
    surface[inside] = non_negative(values[inside], np.ones(int(np.count_nonzero(inside))))
    return surface


def blurred(values: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Every cell's value shared out over the cells inside around it; the total stays."""
    room = _convolved(inside.astype(np.float64))
    shared = np.divide(values, room, out=np.zeros_like(values), where=inside)
    return np.where(inside, _convolved(shared), 0.0)


def line_values(
    surface: Floats, noise: DiscreteLaplace, grid: Grid, spacing: Spacing, first: int, most: int
) -> Floats:
    """People per square kilometre (m,) at which to draw lines, ascending, at most `most`.

    By the noise, the first line is what at most one empty cell in a thousand reaches and each
    further one twice the last; declared lines begin at `first` and double, or rise by as much each
    time. Lines above the whole surface are left out.
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
    """Where the density equals each value: MultiLineStrings (m,) in degrees, in the study area."""
    generator = _generator(surface, grid)
    lines = [
        shapely.MultiLineString([_degrees(line) for line in generator.lines(value)])
        for value in values
    ]
    return _within(lines, area, shapely.MultiLineString)


def draw_bands(
    surface: Floats, grid: Grid, values: Sequence[float], area: StudyArea
) -> NDArray[np.object_]:
    """Where the density is between each value and the next: MultiPolygons (m,) in degrees."""
    generator = _generator(surface, grid)
    uppers = [*values[1:], math.inf][: len(values)]
    bands = [_polygons(generator, low, high) for low, high in zip(values, uppers, strict=True)]
    return _within(bands, area, shapely.MultiPolygon)


def _generator(surface: Floats, grid: Grid) -> Any:
    """Contours of people per square kilometre between the centres of cells.

    A border of empty cells closes every line that would leave the grid.
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


def _polygons(generator: Any, low: float, high: float) -> Any:
    """One band as a MultiPolygon in degrees."""
    points, offsets = generator.filled(low, high)
    polygons = []
    for outline, starts in zip(points, offsets, strict=True):
        degrees = _degrees(outline)
        rings = [degrees[start:end] for start, end in itertools.pairwise(starts)]
        polygons.append(shapely.Polygon(rings[0], rings[1:]))
    return shapely.MultiPolygon(polygons)


def _degrees(points: Floats) -> Floats:
    return np.column_stack(to_degrees(points[:, 0], points[:, 1])).round(DECIMALS)


def _within(shapes: Sequence[Any], area: StudyArea, kind: type[Any]) -> NDArray[np.object_]:
    """The parts of shapes inside the study area, each as a geometry of many parts."""
    single = shapely.GeometryType.POLYGON
    if kind is shapely.MultiLineString:
        single = shapely.GeometryType.LINESTRING
    cut = np.empty(len(shapes), dtype=object)
    for index, shape in enumerate(shapes):
        # Bands that touch themselves in a point, as contours of cells may, are mended first.
        inside = shapely.intersection(shapely.make_valid(shape), area.shape)
        # Where shapes only touch, points and lines are left over.
        parts = shapely.get_parts(shapely.get_parts(inside))
        kept = parts[shapely.get_type_id(parts) == single]
        cut[index] = shapely.orient_polygons(kind(list(kept)))
    return cut


def _convolved(values: Floats) -> Floats:
    wide = np.pad(values, 1)
    rows = KERNEL[0] * wide[:-2] + KERNEL[1] * wide[1:-1] + KERNEL[2] * wide[2:]
    return np.asarray(
        KERNEL[0] * rows[:, :-2] + KERNEL[1] * rows[:, 1:-1] + KERNEL[2] * rows[:, 2:]
    )
