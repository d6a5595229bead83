"""Sums over boxes of cells, and the image of which box each cell lies in.

A box is int32 (first row, row after the last, first column, column after the last).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def summed_area(cells: NDArray[Any]) -> NDArray[np.int64]:
    """Summed-area table of integer or boolean cells (rows, columns).

    int64 of shape (rows + 1, columns + 1): entry (i, j) is the sum of the first i rows and j
    columns, so that any box takes four look-ups (Crow 1984).
    """
    rows, columns = cells.shape
    table = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    np.cumsum(cells, axis=0, dtype=np.int64, out=table[1:, 1:])
    np.cumsum(table[1:, 1:], axis=1, out=table[1:, 1:])
    return table


def box_sums(table: NDArray[np.int64], boxes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Sums (n,) of boxes (n, 4) from a summed-area table."""
    top, bottom, left, right = np.asarray(boxes).T
    sums = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
    return np.asarray(sums, dtype=np.int64)


def box_image(boxes: NDArray[np.integer[Any]], shape: tuple[int, int]) -> NDArray[np.int32]:
    """The index of the box that each cell lies in, -1 where there is none; boxes are disjoint."""
    rows, columns = shape
    corners = np.zeros((rows + 1, columns + 1), dtype=np.int32)
    top, bottom, left, right = np.asarray(boxes).T
    number = np.arange(1, len(boxes) + 1, dtype=np.int32)
    # A box's number is switched on at its first corner and off at the other three; adding up
    # along both axes spreads it over the box, and over nothing else.
    np.add.at(corners, (top, left), number)
    np.add.at(corners, (bottom, right), number)
    np.subtract.at(corners, (top, right), number)
    np.subtract.at(corners, (bottom, left), number)
    np.cumsum(corners, axis=0, out=corners)
    np.cumsum(corners, axis=1, out=corners)
    return corners[:rows, :columns] - np.int32(1)


def quarters(
    boxes: NDArray[np.integer[Any]], inside: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Cut every box in the middle of both sides: the parts and which box each comes from.

    A side of one cell stays whole. Parts that hold no cell of the study area are left out; `inside`
    is the summed-area table of its mask. Parts are int32 (n, 4), in order of their boxes and within
    a box by row, then column; they are disjoint and lie in their boxes.
    """
    top, bottom, left, right = np.asarray(boxes, dtype=np.int64).T
    row, column = (top + bottom) // 2, (left + right) // 2
    upper = (top, row), (row, bottom)
    sides = (left, column), (column, right)
    parts = np.stack(
        [np.column_stack([*rows, *columns]) for rows in upper for columns in sides], axis=1
    ).reshape(-1, 4)
    whole = (parts[:, 0] < parts[:, 1]) & (parts[:, 2] < parts[:, 3])
    kept = np.flatnonzero(whole & (box_sums(inside, parts) > 0))
    return parts[kept].astype(np.int32), kept // 4
