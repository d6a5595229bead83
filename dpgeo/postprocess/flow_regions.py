"""Squares of a grid as regions of flows, named like the squares of a street map's index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.areas import squares
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

LETTERS = 26


def square_zones(grid: Grid, inside: NDArray[np.bool_]) -> Zones:
    """Return the cells marked in `inside` (rows * columns,) as zones named A1, B1 and so on.

    Letters count columns from the west, and numbers count rows from the north.
    """
    row, column = np.divmod(np.flatnonzero(inside), grid.columns)
    names = square_names(row, column)
    boxes = np.column_stack([row, row + 1, column, column + 1])
    return Zones(keys=names, names=names, shapes=squares(grid, boxes))


def square_names(row: NDArray[np.int64], column: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names of squares, such as C5, from their rows and columns (n,)."""
    return tuple(
        f"{_letters(each)}{number + 1}"
        for each, number in zip(column.tolist(), row.tolist(), strict=True)
    )


def _letters(number: int) -> str:
    """Return the letters of a column, as in spreadsheets: A to Z, then AA."""
    first, last = divmod(number, LETTERS)
    return (_letters(first - 1) if first else "") + chr(ord("A") + last)
