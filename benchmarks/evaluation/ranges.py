"""Errors of range counts over boxes of cells (Hay et al. 2016, DPBench)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.layers import BoxLayer
from dpgeo.spatial.boxes import box_image

QUERIES = 2000


def random_boxes(cells: int) -> NDArray[np.int64]:
    """Return QUERIES boxes (n, 4), which are the same in every run.

    The columns are the first row, the row after the last, the first column and the column after the
    last. For each axis, first for rows, two whole numbers below `cells` are drawn; the box includes
    both.
    """
    random = np.random.RandomState(7)
    rows = np.sort(random.randint(0, cells, (QUERIES, 2)), axis=1)
    columns = np.sort(random.randint(0, cells, (QUERIES, 2)), axis=1)
    return np.column_stack([rows[:, 0], rows[:, 1] + 1, columns[:, 0], columns[:, 1] + 1])


def range_counts(cells: NDArray[Any], boxes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums (n,) of `cells` (rows, columns) over boxes."""
    table = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1))
    table[1:, 1:] = cells.cumsum(axis=0, dtype=np.float64).cumsum(axis=1)
    top, bottom, left, right = boxes.T
    sums = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
    return np.asarray(sums)


def spread(layer: BoxLayer) -> NDArray[np.float64]:
    """Return an estimate for every cell of the layer's grid, spreading each box's value evenly.

    Cells outside all boxes get 0. Raises ValueError if a box lies partly outside the study area.
    """
    sizes = np.prod(np.diff(layer.boxes)[:, ::2], axis=1)
    if (sizes != layer.cells).any():
        raise ValueError(f"The layer {layer.name!r} has boxes that are partly outside the area.")
    image = box_image(layer.boxes, layer.grid.shape)
    shares = np.append(layer.value / layer.cells, 0.0)
    return np.asarray(shares[image])


def mean_absolute_error(estimate: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the mean absolute difference between estimate and truth over the queries."""
    return float(np.abs(estimate - truth).mean())


def scaled_l2_error(estimate: NDArray[np.float64], truth: NDArray[np.float64], scale: int) -> float:
    """Return the L2 norm of the errors, divided by the number of queries and by `scale` records.

    This is definition 3 of DPBench.
    """
    return float(np.linalg.norm(estimate - truth) / (scale * len(truth)))
