"""Density surface of a release, for planning tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import Conflict
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid

Floats = NDArray[np.float64]

MAX_CELLS = 1024
"""Largest number of cells per row or column of a surface; finer cells are summed in blocks."""

MIN_VARIANCE = 1e-12

KNOWN = 2.0
"""In about 95 of 100 cases, a noisy sum lies within this many standard errors of the true sum."""


def density_surface(released: Released) -> DensitySurface:
    """Return the surface of expected people per cell, never negative.

    It is computed from the release's last layer of boxes. The count of a box with several cells is
    divided evenly among the cells that intersect the study area. The counts are scaled to agree
    with the measured total; see `reconciled`. Raises Conflict for a release that has no counts of
    boxes or has time slices.
    """
    box_layers = _plannable(layers(released))
    last, measured = box_layers[-1], box_layers[0]
    step = -(-max(last.grid.shape) // MAX_CELLS)
    people = expected_people(last)
    # If some cells were not measured, no measured total of all people is known to scale to.
    if measured.cells.sum() == last.cells.sum():
        people = reconciled(people, last.cells, measured.value, _variance(measured))
    return DensitySurface(
        grid=_coarser(last.grid, step),
        counts=_pooled(last, people, released.area, step),
        noise=_pooled(measured, _variance(measured), released.area, step),
    )


def expected_people(layer: BoxLayer) -> Floats:
    """Return the expected number of people (n,) in each box of a layer, never negative."""
    if "non_negative" in layer.columns:
        return np.asarray(layer.columns["non_negative"], dtype=np.float64)
    if layer.kind == "inferred" and layer.value.size and layer.value.min() >= 0:
        return np.asarray(layer.value, dtype=np.float64)
    return non_negative(layer.value, np.maximum(_variance(layer), MIN_VARIANCE))


def reconciled(
    people: Floats, cells: NDArray[Any], measured: NDArray[Any], variance: Floats
) -> Floats:
    """Scale expected people (n,) so that their total agrees with the measured counts.

    Estimates that shrink every box towards its surroundings err in the same direction in many
    boxes: under strong noise, thousands of empty boxes keep a few people each. The sum of the
    `measured` counts (m,) is unbiased. If the estimated total exceeds that sum by more than KNOWN
    standard errors, it is scaled down to this limit. If the sum stands out from its noise and the
    estimated total is smaller, the difference is distributed evenly over the `cells` (n,) of the
    boxes. `variance` (m,) holds the noise variances of the measured counts.
    """
    total, error = float(measured.sum()), math.sqrt(float(variance.sum()))
    estimated, most = float(people.sum()), max(total + KNOWN * error, 0.0)
    if estimated > most:
        return np.asarray(people * (most / estimated))
    missing = total - estimated if total > KNOWN * error else 0.0
    return np.asarray(people + max(missing, 0.0) * cells / cells.sum())


def _plannable(drawn: Sequence[Layer]) -> list[BoxLayer]:
    candidates = [layer for layer in drawn if isinstance(layer, BoxLayer)]
    if not candidates:
        raise Conflict(
            "Tasks cannot be planned on this release: it has no counts of cells. Choose contours "
            "or a heatmap."
        )
    if candidates[0].sliced:
        raise Conflict(
            "Tasks cannot be planned on this release: each of its maps is of one time alone. "
            "Choose contours or a heatmap of all times."
        )
    return candidates


def _variance(layer: BoxLayer) -> Floats:
    """Return the noise variances (n,) of a layer, computed from its margins as if noise were
    Laplace.

    Gaussian noise with the same 95 % margins has variances that are a sixth larger.
    """
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
    """Divide the values (n,) of boxes among their cells, and sum these over blocks of `step` x
    `step` cells.
    """
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
