"""Paths: trips over the cells of a grid, which a release of made-up trips describes.

A path begins in the cell of a trip's first position and moves from cell to neighbouring cell. Cells
between two positions are filled in: first along the diagonal, then straight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.grid import Grid

MAX_MOVES = 40
"""Number of moves after which a path is cut off."""

UNITS = 60
"""Number of units that each path divides among its moves.

So long paths add no more to the counts of moves than short ones.
"""

DIRECTIONS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""Steps in rows and columns to the eight neighbours of a cell, clockwise from the north."""

DIRECTION_NAMES = ("n", "ne", "e", "se", "s", "sw", "w", "nw")

SECONDS_A_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TripPaths:
    """Which trips are described, and the grid over which their paths lead.

    If `gap_minutes` is above 0, a trip consists of consecutive rows of one person, in the order of
    time, each at most that many minutes after the one before. If it is 0, a trip is one row, which
    leads straight to its destination.
    """

    grid: Grid
    gap_minutes: int


def neighbours(grid: Grid) -> NDArray[np.int64]:
    """Return the index (n, 8) of each cell's neighbour in each direction, -1 beyond the edge."""
    row, column = np.divmod(np.arange(grid.size), grid.columns)
    down, across = np.array(DIRECTIONS).T
    rows, columns = row[:, None] + down, column[:, None] + across
    inside = (rows >= 0) & (rows < grid.rows) & (columns >= 0) & (columns < grid.columns)
    return np.where(inside, rows * grid.columns + columns, -1).astype(np.int64)
