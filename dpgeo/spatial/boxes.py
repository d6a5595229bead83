"""Sums over boxes of cells, and arrays that hold the box of each cell.

A box is (first row, row after the last, first column, column after the last), int32.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray


def summed_area(cells: NDArray[Any]) -> NDArray[np.integer[Any]]:
    """Compute the summed-area table of integer or boolean cells (rows, columns).

    Its shape is (rows + 1, columns + 1). Entry (i, j) is the sum of the cells in the first
    i rows and the first j columns, so that the sum over any box takes four lookups (Crow
    1984). The table is int64, or int32 for at most 2^31 - 1 boolean cells.
    """
    rows, columns = cells.shape
    small = cells.dtype == np.bool_ and cells.size <= np.iinfo(np.int32).max
    number = np.int32 if small else np.int64
    # All cells are often True, for example in the inside mask of an area that fills its grid. The
    # sums are then known without adding up.
    if cells.dtype == np.bool_ and cells.all():
        return np.multiply.outer(
            np.arange(rows + 1, dtype=number), np.arange(columns + 1, dtype=number)
        )
    table = np.zeros((rows + 1, columns + 1), dtype=number)
    table[1:, 1:] = cells
    accumulate(table)
    return table


def accumulate(table: NDArray[Any]) -> None:
    """Compute cumulative sums of a table (rows, columns) along both axes, in place.

    Rows are added one by one, which is many times faster than NumPy's cumulative sum down columns.
    """
    np.cumsum(table, axis=1, out=table)
    for above, row in itertools.pairwise(table):
        row += above


def box_sums(table: NDArray[np.integer[Any]], boxes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the sums (n,) of boxes (n, 4), given a summed-area table."""
    top, bottom, left, right = np.asarray(boxes).T
    sums = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
    return np.asarray(sums, dtype=np.int64)


def box_image(boxes: NDArray[np.integer[Any]], shape: tuple[int, int]) -> NDArray[np.int32]:
    """Return an array of `shape` with the index of each cell's box, or -1 for a cell in no box.

    The boxes (n, 4) must be disjoint.
    """
    rows, columns = shape
    corners = np.zeros((rows + 1, columns + 1), dtype=np.int32)
    top, bottom, left, right = np.asarray(boxes).T
    number = np.arange(1, len(boxes) + 1, dtype=np.int32)
    # Add a box's number at two opposite corners and subtract it at the other two. Cumulative sums
    # along both axes then fill exactly the cells of the box with that number. No two disjoint boxes
    # have the same corner in common, so that plain indexing adds each number once.
    flat, width = corners.ravel(), columns + 1
    top, bottom = top.astype(np.int64) * width, bottom.astype(np.int64) * width
    flat[top + left] += number
    flat[bottom + right] += number
    flat[top + right] -= number
    flat[bottom + left] -= number
    accumulate(corners)
    return corners[:rows, :columns] - np.int32(1)


def tiles(
    boxes: NDArray[np.integer[Any]],
    parts: int | NDArray[np.int64],
    inside: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Divide every box into `parts` x `parts` tiles; return each tile and the index of its
    box.

    `parts` is one number for all boxes, or one for each box. If a side of a box has fewer than
    `parts` cells, it is divided into single cells. `inside` is the summed-area table of the study
    area's mask; tiles without a cell that intersects the area are left out. Tiles are int32 (n, 4),
    ordered by box, then row, then column. The second result (n,) holds the index of each tile's
    box.
    """
    top, bottom, left, right = np.asarray(boxes, dtype=np.int64).T
    down, across = np.minimum(parts, bottom - top), np.minimum(parts, right - left)
    number = down * across
    box = np.repeat(np.arange(len(number)), number)
    offset = np.arange(len(box)) - np.repeat(np.cumsum(number) - number, number)
    row, column = np.divmod(offset, across[box])
    first, height, down = top[box], (bottom - top)[box], down[box]
    start, width, across = left[box], (right - left)[box], across[box]
    tile = np.column_stack(
        [
            first + row * height // down,
            first + (row + 1) * height // down,
            start + column * width // across,
            start + (column + 1) * width // across,
        ]
    )
    touching = np.flatnonzero(box_sums(inside, tile) > 0)
    return tile[touching].astype(np.int32), box[touching]
