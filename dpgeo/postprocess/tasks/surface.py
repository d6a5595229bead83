"""The surface of expected people, and the regions, that a release offers to whoever plans on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import Conflict
from dpgeo.core.released import ContourRelease, Released
from dpgeo.postprocess.contours import SQUARE_KILOMETRE
from dpgeo.postprocess.layers import BoxLayer, box_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.postprocess.tasks.geocast import Partition
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid

Floats = NDArray[np.float64]

MOST_CELLS = 1024
"""Cells along each side of a surface; finer releases are summed to so many."""

LEAST_VARIANCE = 1e-12

KNOWN = 2.0
"""Standard errors of a sum within which it is known: 95 of 100 times."""


def density_surface(released: Released) -> DensitySurface:
    """Expected people in each cell, from the last layer of boxes and never negative.

    Where that layer is not of single cells, each box spreads its count evenly over its cells inside
    the study area. All people together are what the measured counts allow, see `reconciled`. Raises
    Conflict for a release without counts of boxes, or with slices of time.
    """
    shown = _shown(released)
    last, measured = shown[-1], shown[0]
    step = -(-max(last.grid.shape) // MOST_CELLS)
    people = expected_people(last)
    if measured.cells.sum() == last.cells.sum():  # else nothing says how many the rest holds
        people = reconciled(people, last.cells, measured.value, _variance(measured))
    lines = np.zeros(0)
    if isinstance(released.content, ContourRelease):
        lines = released.content.lines / SQUARE_KILOMETRE
    return DensitySurface(
        grid=_coarser(last.grid, step),
        counts=_pooled(last, people, released.area, step),
        noise=_pooled(measured, _variance(measured), released.area, step),
        lines=lines,
    )


def partition_of(released: Released) -> Partition:
    """The regions that were measured, with the people expected in each.

    Raises Conflict for a release without counts of boxes, or with slices of time.
    """
    layer = _shown(released)[0]
    return Partition(layer.grid, layer.boxes, expected_people(layer))


def expected_people(layer: BoxLayer) -> Floats:
    """Expected people (n,) in the boxes of a layer, never negative."""
    if "non_negative" in layer.columns:
        return np.asarray(layer.columns["non_negative"], dtype=np.float64)
    if layer.kind == "inferred" and layer.value.size and layer.value.min() >= 0:
        return np.asarray(layer.value, dtype=np.float64)
    return non_negative(layer.value, np.maximum(_variance(layer), LEAST_VARIANCE))


def reconciled(
    people: Floats, cells: NDArray[Any], measured: NDArray[Any], variance: Floats
) -> Floats:
    """Expected people (n,) in boxes of so many cells (n,), in all as many as measured counts allow.

    An estimate that draws every box towards its surroundings errs in the same direction in many of
    them. Under strong noise thousands of empty boxes each keep a little, and together more people
    than the measured counts (m,), whose sum is right on average, allow: then all are scaled down to
    the most that the sum's standard error admits. Where the sum stands out from its noise and the
    boxes hold fewer, those whom sparse boxes have lost are given back evenly.
    """
    total, error = float(measured.sum()), math.sqrt(float(variance.sum()))
    found, most = float(people.sum()), max(total + KNOWN * error, 0.0)
    if found > most:
        return np.asarray(people * (most / found))
    lost = total - found if total > KNOWN * error else 0.0
    return np.asarray(people + max(lost, 0.0) * cells / cells.sum())


def _shown(released: Released) -> list[BoxLayer]:
    shown = box_layers(released)
    if not shown:
        raise Conflict(
            "Tasks cannot be planned on this release: it has no counts of cells. Choose contours "
            "or a heatmap."
        )
    if shown[0].time_slice:
        raise Conflict(
            "Tasks cannot be planned on this release: each of its maps is of one time alone. "
            "Choose contours or a heatmap of all times."
        )
    return shown


def _variance(layer: BoxLayer) -> Floats:
    """Of the noise (n,), as if it were Laplace with the stated margin."""
    return np.asarray(2 * (layer.margin / np.log(20)) ** 2)


def _coarser(grid: Grid, step: int) -> Grid:
    if step == 1:
        return grid
    return Grid(
        west=grid.west,
        north=grid.north,
        cell=grid.cell * step,
        columns=-(-grid.columns // step),
        rows=-(-grid.rows // step),
    )


def _pooled(layer: BoxLayer, values: Floats, area: StudyArea, step: int) -> Floats:
    """Values (n,) of boxes, even over their cells inside, summed over blocks of step x step."""
    grid = _coarser(layer.grid, step)
    if layer.is_cells:
        row, column = layer.boxes[:, 0] // step, layer.boxes[:, 2] // step
        place = row.astype(np.int64) * grid.columns + column
        sums = np.bincount(place, weights=values, minlength=grid.size).astype(np.float64)
        return sums.reshape(grid.shape)
    image = box_image(layer.boxes, layer.grid.shape)
    density = np.append(values / np.maximum(layer.cells, 1), 0.0)
    cells = np.where(layer.grid.inside(area), density[image], 0.0)
    rows, columns = grid.rows * step - layer.grid.rows, grid.columns * step - layer.grid.columns
    whole = np.pad(cells, ((0, rows), (0, columns)))
    blocks = whole.reshape(grid.rows, step, grid.columns, step)
    return np.asarray(blocks.sum(axis=(1, 3)))
