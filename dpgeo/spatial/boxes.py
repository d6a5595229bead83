"""Sums over boxes of cells, and images that give the box of each cell.

A box is int32 (first row, row after the last, first column, column after the last).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray


def summed_area(cells: NDArray[Any]) -> NDArray[np.integer[Any]]:
    """Compute the summed-area table of integer or boolean cells (rows, columns).

    Its shape is (rows + 1, columns + 1): entry (i, j) is the sum of the first i rows and j columns,
    so that the sum of any box takes four lookups (Crow 1984). The table is int64, or int32 for
    boolean cells.
    """
    rows, columns = cells.shape
    small = cells.dtype == np.bool_ and cells.size <= np.iinfo(np.int32).max
    number = np.int32 if small else np.int64
    if cells.dtype == np.bool_ and cells.all():  # for example, all touch the study area
        return np.multiply.outer(
            np.arange(rows + 1, dtype=number), np.arange(columns + 1, dtype=number)
        )
    table = np.zeros((rows + 1, columns + 1), dtype=number)
    table[1:, 1:] = cells
    accumulate(table)
    return table


def accumulate(table: NDArray[Any]) -> None:
    """Add up numbers (rows, columns) along both axes, in place.

    Rows are added one by one: NumPy's own sum down a column strides through memory and takes many
    times as long.
    """
    np.cumsum(table, axis=1, out=table)
    for above, row in itertools.pairwise(table):
        row += above


def box_sums(table: NDArray[np.integer[Any]], boxes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Sum boxes (n, 4) from a summed-area table: (n,)."""
    top, bottom, left, right = np.asarray(boxes).T
    sums = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
    return np.asarray(sums, dtype=np.int64)


def box_image(boxes: NDArray[np.integer[Any]], shape: tuple[int, int]) -> NDArray[np.int32]:
    """Return the index of the box of each cell, -1 if none; boxes are disjoint."""
    rows, columns = shape
    corners = np.zeros((rows + 1, columns + 1), dtype=np.int32)
    top, bottom, left, right = np.asarray(boxes).T
    number = np.arange(1, len(boxes) + 1, dtype=np.int32)
    # A box's number is added at its first and last corners and subtracted at the other two. Adding
    # up along both axes then fills exactly the cells of the box with that number.
    np.add.at(corners, (top, left), number)
    np.add.at(corners, (bottom, right), number)
    np.subtract.at(corners, (top, right), number)
    np.subtract.at(corners, (bottom, left), number)
    accumulate(corners)
    return corners[:rows, :columns] - np.int32(1)


def tiles(
    boxes: NDArray[np.integer[Any]],
    parts: int | NDArray[np.int64],
    inside: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Divide every box into `parts` x `parts` tiles; return tiles and their boxes.

    `parts` is one number for all boxes or one for each; a side with fewer cells is divided into its
    cells. `inside` is the summed-area table of the study area's mask; tiles without a cell that
    touches the area are left out. Tiles are int32 (n, 4), ordered by box and within a box by row,
    then column; they are disjoint and lie in their boxes. The second array (n,) gives the box of
    each tile.
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
