"""Row-column model: counts expected if rows and columns are locally independent.

Some maps do not look like crowds, for example a table of one attribute against another, or streets
parallel to the axes: a full row stays full over a long distance, while the adjacent rows may be
empty. For a cell, let H be the average density along its row, V along its column and F over its
surroundings, all with Gaussian weights of standard deviation REACH times the side of the map. If
rows and columns are independent, the cell's density is exactly H V / F. Since H and V are
uncertain, TRUST times F is added to each, and the result is divided by (1 + TRUST)^2.
"""

from __future__ import annotations

import numpy as np

from dpgeo.postprocess.pyramid import Floats, ratio

REACH = 1 / 6
"""Standard deviation of the Gaussian weights, as a fraction of the side of the map.

On generated tables and products of a row and a column profile, errors decrease as REACH increases
to about this value, and hardly change beyond it. On other maps it makes little difference.
"""

TRUST = 0.1
STRIPS = 32
"""Largest number of strips of rows or columns for which averages are computed.

Averages change so slowly that strips suffice; they make large maps a hundred times faster.
"""

NEXT_TO_NOTHING = 1e-12


class RowColumnModel:
    """Row-column model of a square of nodes.

    `sizes` (side, side) holds the number of cells in each node. With `alone`, a node's expected
    count is computed from averages that leave out the node's own value.
    """

    def __init__(self, sizes: Floats, *, alone: bool = False) -> None:
        side = len(sizes)
        self._sizes = sizes
        self._weights = _weights(side)
        own = self._weights[np.arange(side) * len(self._weights) // side, np.arange(side)]
        self._own = own if alone else None
        # Multiplied by these factors, weighted sums of nodes' counts become densities per cell.
        row, column, both = self._sums(sizes)
        self._row, self._column = (
            ratio(np.ones_like(sizes), row),
            ratio(np.ones_like(sizes), column),
        )
        self._both = ratio(np.ones_like(sizes), both)

    def expected(self, values: Floats) -> Floats:
        """Return the nodes' counts (side, side) that the model expects from counts `values`."""
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
        """Return Gaussian-weighted sums (side, side) for each node.

        The three arrays hold sums along the node's row, along its column, and over its
        surroundings.
        """
        row = self._along_rows(values)
        column = self._along_rows(values.T).T
        return row, column, self._along_rows(row.T).T

    def _along_rows(self, values: Floats) -> Floats:
        sums = np.asarray(_strips(values, len(self._weights)) @ self._weights)
        if self._own is not None:
            sums -= values * self._own
            # Rounding can make differences of large numbers slightly negative.
            np.maximum(sums, 0.0, out=sums)
        return sums


def _strips(values: Floats, number: int) -> Floats:
    """Return the sums (side, number) of each row over `number` strips of adjacent columns."""
    side = len(values)
    return np.asarray(values.reshape(side, number, side // number).sum(axis=2))


def _weights(side: int) -> Floats:
    """Return the weights (strips, side) of strips of rows or columns in each node's averages.

    There are `side` nodes along an axis. Weights follow a Gaussian in the distance between the
    middles of strip and node.
    """
    strips = min(side, STRIPS)
    strip = (np.arange(strips) + 0.5) / strips
    position = (np.arange(side) + 0.5) / side
    return np.asarray(np.exp(-0.5 * ((strip[:, None] - position) / REACH) ** 2))
