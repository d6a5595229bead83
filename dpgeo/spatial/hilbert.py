"""Hilbert order, in which positions close in the order are close on the map.

The curve is that of Hilbert (1891), computed bit by bit as in Warren, Hacker's Delight (2013),
section 16-3, for all positions at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BITS = 16
"""The curve visits every point of a 2^BITS x 2^BITS lattice that spans the positions."""


def hilbert_order(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices (n,) that sort positions (n,) along the curve.

    Positions at the same point of the curve keep their order.
    """
    if not x.size:
        return np.empty(0, dtype=np.intp)
    side = max(float(np.ptp(x)), float(np.ptp(y))) or 1.0
    most = (1 << BITS) - 1
    column = ((x - x.min()) / side * most).astype(np.int64)
    row = ((y - y.min()) / side * most).astype(np.int64)
    index = np.zeros(x.size, dtype=np.int64)
    for bit in range(BITS - 1, -1, -1):
        right, up = (column >> bit) & 1, (row >> bit) & 1
        index += ((3 * right) ^ up) << (2 * bit)
        # Positions in the lower quadrants are rotated, so that the part of the curve in each
        # quadrant begins where the previous part ends.
        flipped = (up == 0) & (right == 1)
        column = np.where(flipped, most - column, column)
        row = np.where(flipped, most - row, row)
        column, row = np.where(up == 0, row, column), np.where(up == 0, column, row)
    return np.argsort(index, kind="stable")
