"""Operations on square arrays of quadtree levels: level l has 2^l by 2^l nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def depth(shape: tuple[int, int]) -> int:
    """Return the smallest depth of a quadtree that covers a grid of this shape."""
    return (max(shape) - 1).bit_length()


def padded(cells: NDArray[Any]) -> NDArray[Any]:
    """Pad an array with zeros in the south and east to a square of side 2^k, for the smallest k."""
    side = 1 << depth((cells.shape[0], cells.shape[1]))
    return np.pad(cells, ((0, side - cells.shape[0]), (0, side - cells.shape[1])))


def pooled(values: Floats, side: int) -> Floats:
    """Sum a square array over square blocks into a result of shape (side, side)."""
    block = len(values) // side
    if block == 1:
        return values
    return np.asarray(values.reshape(side, block, side, block).sum(axis=3).sum(axis=1))


def expanded(values: NDArray[Any], side: int) -> NDArray[Any]:
    """Expand a square array to (side, side) by repeating each value in a square block."""
    block = side // len(values)
    return values.repeat(block, axis=0).repeat(block, axis=1)


def neighbours(values: Floats) -> Floats:
    """Return the weighted mean of each cell's neighbours: 1/6 if adjacent, 1/12 if diagonal."""
    wide = np.zeros((len(values) + 2, len(values) + 2))
    wide[1:-1, 1:-1] = values
    beside = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    corner = wide[:-2, :-2] + wide[2:, 2:] + wide[2:, :-2] + wide[:-2, 2:]
    return np.asarray(beside / 6 + corner / 12)


def ratio(above: Floats, below: Floats) -> Floats:
    """Compute above / below, or 0 where `below` is not positive."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
