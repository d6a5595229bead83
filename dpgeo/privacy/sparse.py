"""True counts on a very fine grid, without noise, stored for occupied cells only.

They are private: only the Meter can read them (`privacy.counts.Opaque`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.counts import Opaque, PrivateCounts, squared_sensitivity
from dpgeo.privacy.vector_sums import PrivateSums
from dpgeo.spatial.cell_runs import CellRuns
from dpgeo.spatial.centres import Centres, nearest
from dpgeo.spatial.grid import Grid


class PrivateSparseCounts(Opaque):
    """Counts of `size` disjoint public cells, with a known L1 and L2 sensitivity.

    Adding or removing one privacy unit changes all counts together by at most `sensitivity`, and
    each single count by at most 1 if `distinct` is true (see `PrivateCounts`). Which
    cells are occupied is private, and so is their number. Only the Meter can read the values, see
    `Opaque`.
    """

    __slots__ = ("__cells", "__values", "_distinct", "_sensitivity", "_size")

    __cells: NDArray[np.int64]
    __values: NDArray[np.int64]
    _distinct: bool
    _sensitivity: int
    _size: int

    def __init__(
        self,
        cells: NDArray[np.integer[Any]],
        values: NDArray[np.integer[Any]],
        *,
        size: int,
        sensitivity: int,
        distinct: bool = False,
    ) -> None:
        """Store the counts of the occupied cells.

        `cells` (n,) are ascending indices below `size`, and `values` (n,) are their counts. The
        class explains `sensitivity` and `distinct`.
        """
        if np.asarray(values).dtype.kind not in "iu" or np.asarray(cells).dtype.kind not in "iu":
            # Fractions are refused, because truncating them would change the sensitivity.
            raise TypeError("Private counts are whole numbers.")
        if operator.index(sensitivity) < 1:
            raise ValueError("The sensitivity of counts is at least 1.")
        numbers = np.asarray(cells)
        ordered = bool(np.all(numbers[:-1] < numbers[1:]))
        if numbers.shape != np.shape(values) or not ordered:
            # A repeated cell would get two noisy counts, which together tell more than was paid
            # for.
            raise ValueError("Cells are numbered in ascending order, each with one count.")
        if numbers.size and not 0 <= int(numbers[0]) <= int(numbers[-1]) < operator.index(size):
            raise ValueError("There are counts of cells outside the grid.")
        own = "_PrivateSparseCounts"
        object.__setattr__(self, f"{own}__cells", np.asarray(cells, dtype=np.int64))
        object.__setattr__(self, f"{own}__values", np.asarray(values, dtype=np.int64))
        object.__setattr__(self, "_size", operator.index(size))
        object.__setattr__(self, "_sensitivity", operator.index(sensitivity))
        object.__setattr__(self, "_distinct", bool(distinct))

    @property
    def size(self) -> int:
        """Number of cells, including empty ones. It is public, since the grid is public."""
        return self._size

    @property
    def sensitivity(self) -> int:
        """Largest L1 change of the counts when one privacy unit is added or removed."""
        return self._sensitivity

    @property
    def squared_sensitivity(self) -> int:
        """Upper bound on the counts' squared L2 change if one privacy unit is added or removed."""
        return squared_sensitivity(self._sensitivity, self._distinct)

    def within(self, runs: CellRuns) -> PrivateSparseCounts:
        """Restrict the counts to a public set of cells.

        The cells of the set are renumbered from 0 in ascending order. Dropping counts increases
        neither the L1 nor the L2 sensitivity.
        """
        ranks = runs.ranks(self.__cells)
        inside = ranks >= 0
        return PrivateSparseCounts(
            ranks[inside],
            self.__values[inside],
            size=runs.size,
            sensitivity=self._sensitivity,
            distinct=self._distinct,
        )

    def between(self, kept: NDArray[np.bool_]) -> PrivateSparseCounts:
        """Restrict counts of pairs of regions to the pairs of a public set of regions.

        The cells must be all pairs of n regions, numbered slice by slice, then by origin, then by
        destination. The result has the pairs of the regions that `kept` (n,) marks, numbered in the
        same way. Different pairs get different numbers, so no counts are added up, and neither the
        L1 nor the L2 sensitivity grows.
        """
        every, n = kept.size, int(np.count_nonzero(kept))
        if self._size % every**2:
            raise ValueError("The counts are not of pairs of these regions.")
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        pair, slice_number = self.__cells % every**2, self.__cells // every**2
        origin, destination = number[pair // every], number[pair % every]
        inside = (origin >= 0) & (destination >= 0)
        return PrivateSparseCounts(
            ((slice_number * n + origin) * n + destination)[inside],
            self.__values[inside],
            size=self._size // every**2 * n * n,
            sensitivity=self._sensitivity,
            distinct=self._distinct,
        )

    def mapped(
        self, function: Callable[[NDArray[np.int64]], NDArray[np.int64]], size: int
    ) -> PrivateSparseCounts:
        """Add up the counts of all cells to which a public function assigns the same number.

        The numbers are below `size`; a cell with a negative number is dropped. Every count is added
        to at most one sum, so the L1 sensitivity does not grow. The sums are no longer `distinct`
        (see `PrivateCounts.regroup`).
        """
        numbers = np.asarray(function(self.__cells), dtype=np.int64)
        kept = numbers >= 0
        return summed(numbers[kept], self.__values[kept], size=size, sensitivity=self._sensitivity)

    def dense(self) -> PrivateCounts:
        """Return the counts of all cells (size,), the empty ones included."""
        counts = np.zeros(self._size, dtype=np.int64)
        counts[self.__cells] = self.__values
        return PrivateCounts(counts, sensitivity=self._sensitivity, distinct=self._distinct)

    def nearest_counts(self, grid: Grid, centres: Centres) -> PrivateCounts:
        """Return the number (k,) of records nearest to each public centre.

        The sensitivity is unchanged. The counted cells must be those of `grid`. The centre that
        a cell is assigned to does not depend on which other cells are occupied.
        """
        self._check_grid(grid)
        cluster = nearest(grid, self.__cells, centres)
        totals = np.zeros(len(centres), dtype=np.int64)
        np.add.at(totals, cluster, self.__values)
        return PrivateCounts(totals, sensitivity=self._sensitivity)

    def cluster_sums(self, grid: Grid, centres: Centres) -> PrivateSums:
        """Return the sums (k, 3) of 1, x and y over the records nearest to each public centre.

        x and y are the offsets of a cell's centre from the middle of the grid, eastwards and
        southwards, in units of half a cell. They are integers; their absolute values are below
        the number of columns or rows.
        """
        self._check_grid(grid)
        cluster = nearest(grid, self.__cells, centres)
        row, column = np.divmod(self.__cells, grid.columns)
        sums = np.zeros((len(centres), 3), dtype=np.int64)
        np.add.at(sums[:, 0], cluster, self.__values)
        np.add.at(sums[:, 1], cluster, self.__values * (2 * column + 1 - grid.columns))
        np.add.at(sums[:, 2], cluster, self.__values * (2 * row + 1 - grid.rows))
        reach = (1, max(1, grid.columns - 1), max(1, grid.rows - 1))
        return PrivateSums(sums, reach=reach, sensitivity=self._sensitivity)

    def _check_grid(self, grid: Grid) -> None:
        if grid.size != self._size:
            raise ValueError("The counts are of another grid.")

    def _read_by_meter(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return occupied cells (n,) and their counts (n,). Only a meter may call this."""
        return self.__cells, self.__values

    def __repr__(self) -> str:
        return f"PrivateSparseCounts(size={self._size}, sensitivity={self._sensitivity})"


def summed(
    cells: NDArray[np.int64],
    amounts: NDArray[np.int64],
    *,
    size: int,
    sensitivity: int,
    distinct: bool = False,
) -> PrivateSparseCounts:
    """Return the counts of cells, each the sum of the amounts listed for the cell.

    `cells` (n,) and `amounts` (n,) list a cell and an amount each, in any order. `distinct` (see
    the class) must hold for the sums.
    """
    occupied, index = np.unique(cells, return_inverse=True)
    totals = np.zeros(occupied.size, dtype=np.int64)
    np.add.at(totals, index, amounts)
    return PrivateSparseCounts(
        occupied, totals, size=size, sensitivity=sensitivity, distinct=distinct
    )
