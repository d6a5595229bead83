"""What a cell should hold by its row and its column, were the two independent thereabouts.

Tables of two attributes, and streets along the axes, are unlike crowds: a row that is full stays
full for long, and its neighbours may be empty. With H the density of a cell's row, V that of its
column and F that of both together, each averaged with weights that fall off over REACH of the side,
a map in which rows and columns are independent has density H V / F, exactly. As H and V are
uncertain, so much as TRUST of F is added to each.
"""

from __future__ import annotations

import numpy as np

from dpgeo.postprocess.pyramid import Floats, ratio

REACH = 1 / 6
"""Standard deviation of the averages' weights, in sides of the map. On generated tables and
products, errors fall as it grows to here and not much beyond; on others they hardly depend."""

TRUST = 0.1
STRIPS = 32
"""Averages are over so many strips at most: they are smooth, and this takes a hundredth of the time
on large maps."""

NEXT_TO_NOTHING = 1e-12


class Crossing:
    """Rows and columns of a square of nodes, of these `sizes` (side, side) inside the study area.

    With `alone`, no node's own value has a say in its own row, column or surroundings.
    """

    def __init__(self, sizes: Floats, *, alone: bool = False) -> None:
        side = len(sizes)
        self._sizes = sizes
        self._weights = _weights(side)
        own = self._weights[np.arange(side) * len(self._weights) // side, np.arange(side)]
        self._own = own if alone else None
        # What divides sums to give densities; with `both` goes the size that is asked for.
        row, column, both = self._sums(sizes)
        trusted = (1 + TRUST) ** 2
        self._row, self._column = (
            ratio(np.ones_like(sizes), row),
            ratio(np.ones_like(sizes), column),
        )
        self._both = ratio(np.ones_like(sizes), both)
        self._wanted = sizes / trusted

    def expected(self, values: Floats) -> Floats:
        """Counts (side, side) that rows and columns of `values` suggest."""
        row, column, both = self._sums(values)
        both *= self._both
        both += NEXT_TO_NOTHING
        row *= self._row
        column *= self._column
        row += TRUST * both
        column += TRUST * both
        row *= column
        row /= both
        row *= self._sizes / (1 + TRUST) ** 2
        return row

    def _sums(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Weighted sums along each node's row, its column, and over both."""
        row = self._along_rows(values)
        column = self._along_rows(values.T).T
        return row, column, self._along_rows(row.T).T

    def _along_rows(self, values: Floats) -> Floats:
        found = np.asarray(_strips(values, len(self._weights)) @ self._weights)
        if self._own is not None:
            found -= values * self._own
            # Differences of large numbers may end just below 0.
            np.maximum(found, 0.0, out=found)
        return found


def _strips(values: Floats, number: int) -> Floats:
    """Sums over so many strips of columns (side, number)."""
    side = len(values)
    return np.asarray(values.reshape(side, number, side // number).sum(axis=2))


def _weights(side: int) -> Floats:
    """Weights (strips, side) of every strip for every place along an axis."""
    strips = min(side, STRIPS)
    strip = (np.arange(strips) + 0.5) / strips
    place = (np.arange(side) + 0.5) / side
    return np.asarray(np.exp(-0.5 * ((strip[:, None] - place) / REACH) ** 2))
