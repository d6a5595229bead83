"""Choice of the quadtree nodes to measure next, based on their expected counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.pyramid import Floats, expanded, pooled


def even(measurements: NodeMeasurements, level: int) -> Masks:
    """Return all nodes of one level that intersect the study area."""
    return [(size > 0) & (depth == level) for depth, size in enumerate(measurements.sizes)]


def where_expected(measurements: NodeMeasurements, cells: Floats, limit: float) -> Masks:
    """Split nodes with an expected count above `limit`, from the root down; return the leaves.

    `cells` holds expected counts (2^depth, 2^depth). A node with only one cell inside the study
    area is not split: one child would have the same count, and the others would be empty.
    """
    chosen: Masks = []
    reached = np.ones((1, 1), dtype=np.bool_)
    for level, size in enumerate(measurements.sizes):
        reached = reached & (size > 0)
        split = reached & (pooled(cells, 1 << level) > limit) & (size > 1)
        chosen.append(reached & ~split)
        if level < measurements.depth:
            reached = expanded(split, 2 << level)
    return chosen


def boxes(nodes: Masks, shape: tuple[int, int]) -> NDArray[np.int32]:
    """Return the boxes (n, 4) of nodes, clipped to a grid of `shape` (rows, columns).

    A box is (first row, row after the last, first column, column after the last).
    """
    depth = len(nodes) - 1
    levels = []
    for level, chosen in enumerate(nodes):
        side = 1 << (depth - level)
        row, column = np.nonzero(chosen)
        ends = np.column_stack([row, row + 1, column, column + 1]) * side
        levels.append(np.minimum(ends, [shape[0], shape[0], shape[1], shape[1]]))
    return np.concatenate(levels).astype(np.int32)
