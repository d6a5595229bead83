"""Which quadtree nodes to measure next, judging by what is expected in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.node_measurements import Evidence, Masks
from dpgeo.postprocess.pyramid import Floats, expanded, pooled


def even(evidence: Evidence, level: int) -> Masks:
    """All nodes of a level that touch the study area."""
    return [(size > 0) & (depth == level) for depth, size in enumerate(evidence.sizes)]


def where_expected(evidence: Evidence, cells: Floats, limit: float) -> Masks:
    """From the root down, nodes are split while they are expected to hold more than `limit`.

    `cells` are expected counts (2^depth, 2^depth). A node of one cell inside the study area is
    never split, for its children would say no more.
    """
    chosen: Masks = []
    reached = np.ones((1, 1), dtype=np.bool_)
    for level, size in enumerate(evidence.sizes):
        reached = reached & (size > 0)
        split = reached & (pooled(cells, 1 << level) > limit) & (size > 1)
        chosen.append(reached & ~split)
        if level < evidence.depth:
            reached = expanded(split, 2 << level)
    return chosen


def boxes(nodes: Masks, shape: tuple[int, int]) -> NDArray[np.int32]:
    """Boxes (n, 4) of nodes in order of level, row, column, cut to a grid of cells.

    A box is (first row, row after the last, first column, column after the last).
    """
    depth = len(nodes) - 1
    parts = []
    for level, chosen in enumerate(nodes):
        side = 1 << (depth - level)
        row, column = np.nonzero(chosen)
        ends = np.column_stack([row, row + 1, column, column + 1]) * side
        parts.append(np.minimum(ends, [shape[0], shape[0], shape[1], shape[1]]))
    return np.concatenate(parts).astype(np.int32)
