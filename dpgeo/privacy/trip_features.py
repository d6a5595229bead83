"""What made-up trips are drawn from: pairs of start and end, moves, and numbers of moves.

Privacy argument. A trip's path is a function of the trip's own rows (`core.trip_paths`). At most
`bound` trips of each privacy unit are kept. Which ones is decided by keys that depend on the unit's
own rows and the job's salt alone, so removing a unit removes its kept trips and changes no other.
Each kept trip adds

1. 1 to the count of its pair of a start and an end: L1 sensitivity `bound`;
2. exactly UNITS whole units to moves, divided as evenly as possible among its own moves, however
   long it is: L1 sensitivity `bound` times UNITS;
3. 1 to the count of its number of moves: L1 sensitivity `bound`.

If people are counted, a person counts once in each pair: of several trips with the same start and
end, the one with the smallest key is kept. The pairs are then distinct in the sense of
`PrivateCounts`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.trip_paths import DIRECTIONS, MAX_MOVES, UNITS
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.spatial.grid import Grid

Ints = NDArray[np.int64]

_NUMBER = {step: number for number, step in enumerate(DIRECTIONS)}

_DIRECTION = np.array(
    [[_NUMBER.get((down, across), -1) for across in (-1, 0, 1)] for down in (-1, 0, 1)]
)
"""Index in DIRECTIONS of a step of (r, c) rows and columns, at the position [r + 1, c + 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTripFeatures:
    """Private counts of the features of trips over a grid of n cells.

    `ends`, shape (n * n,), counts trips by start * n + end. `moves`, shape (n * 8,), are
    indexed by cell * 8 + direction; each trip that moves adds UNITS to them, divided among its
    moves. `lengths`, shape (MAX_MOVES,), counts trips by their number of moves minus 1.
    """

    ends: PrivateCounts
    moves: PrivateCounts
    lengths: PrivateCounts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderedRows:
    """Rows (m,) of trips, ordered by privacy unit and then along each trip.

    `unit` numbers the privacy units and `trip` the trips; both ascend. `cell` is the index of each
    row's cell. `key`, uint64, decides which of a unit's trips are kept, by the key of a trip's
    first row.
    """

    unit: Ints
    trip: Ints
    cell: Ints
    key: NDArray[np.uint64]


class TripFeatures:
    """Counts of the features of trips over a grid, to which rows are added in several passes.

    All rows of a privacy unit must be in one pass. `bound` is None if all trips are kept, because
    each is a privacy unit of its own; the sensitivity is then that of a bound of 1.
    """

    def __init__(self, grid: Grid, bound: int | None, *, distinct: bool) -> None:
        self._grid = grid
        self._bound = bound
        self._distinct = distinct
        self._ends = np.zeros(grid.size**2, dtype=np.int64)
        self._moves = np.zeros(grid.size * len(DIRECTIONS), dtype=np.int64)
        self._lengths = np.zeros(MAX_MOVES, dtype=np.int64)

    def add(self, rows: OrderedRows) -> None:
        """Add the trips in `rows`, at most `bound` of each privacy unit, to the counts."""
        trip, start, end, direction = moves_of(rows, self._grid.columns)
        if not trip.size:
            return
        first = np.flatnonzero(np.r_[True, trip[1:] != trip[:-1]])
        length = np.diff(np.r_[first, trip.size])
        pair = start[first] * self._grid.size + end[first + length - 1]
        # `moves_of` leaves out trips without a move. The first row of each other trip gives the
        # trip's privacy unit, and the key that decides whether the trip is kept.
        row = np.searchsorted(rows.trip, trip[first])
        kept = np.ones(first.size, dtype=np.bool_)
        if self._bound is not None:
            kept = _kept(rows.unit[row], rows.key[row], pair, self._bound, self._distinct)
        place = np.arange(trip.size) - np.repeat(first, length)
        of = np.repeat(length, length)
        units = (place + 1) * UNITS // of - place * UNITS // of
        chosen = np.repeat(kept, length)
        np.add.at(self._ends, pair[kept], 1)
        np.add.at(self._lengths, length[kept] - 1, 1)
        move = start * len(DIRECTIONS) + direction
        np.add.at(self._moves, move[chosen], units[chosen])

    def private(self) -> PrivateTripFeatures:
        """Return the counts, which only the Meter can read."""
        bound = self._bound or 1
        return PrivateTripFeatures(
            ends=PrivateCounts(self._ends, sensitivity=bound, distinct=self._distinct),
            moves=PrivateCounts(self._moves, sensitivity=bound * UNITS),
            lengths=PrivateCounts(self._lengths, sensitivity=bound),
        )


def moves_of(rows: OrderedRows, columns: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the trip, start cell, end cell and direction of each move (k,), in order.

    Each trip is cut off after MAX_MOVES moves.
    """
    row, column = np.divmod(rows.cell, columns)
    down, across = np.diff(row), np.diff(column)
    steps = np.maximum(np.abs(down), np.abs(across))
    steps[rows.trip[1:] != rows.trip[:-1]] = 0
    at = np.repeat(np.arange(steps.size), steps)
    done = np.arange(at.size) - np.repeat(np.cumsum(steps) - steps, steps)
    cells = []
    for more in (0, 1):
        gone = [
            np.sign(way[at]) * np.minimum(done + more, np.abs(way[at])) for way in (down, across)
        ]
        cells.append((row[at] + gone[0], column[at] + gone[1]))
    (from_row, from_column), (to_row, to_column) = cells
    direction = _DIRECTION[to_row - from_row + 1, to_column - from_column + 1]
    trip = rows.trip[at]
    first = np.flatnonzero(np.r_[True, trip[1:] != trip[:-1]][: trip.size])
    place = np.arange(trip.size) - np.repeat(first, np.diff(np.r_[first, trip.size]))
    kept = place < MAX_MOVES
    start, end = from_row * columns + from_column, to_row * columns + to_column
    return trip[kept], start[kept], end[kept], direction[kept]


def _kept(
    unit: Ints, key: NDArray[np.uint64], pair: Ints, bound: int, distinct: bool
) -> NDArray[np.bool_]:
    """Return a mask (t,) of the trips to keep: those with the `bound` smallest keys of each unit.

    If `distinct`, all trips of a unit with the same start and end are dropped first, except the one
    with the smallest key.
    """
    kept = np.zeros(unit.size, dtype=np.bool_)
    candidates = np.arange(unit.size)
    if distinct:
        order = np.lexsort((key, pair, unit))
        changes = (np.diff(unit[order]) != 0) | (np.diff(pair[order]) != 0)
        candidates = np.sort(order[np.r_[True, changes]])
    order = candidates[np.lexsort((key[candidates], unit[candidates]))]
    first = np.flatnonzero(np.r_[True, np.diff(unit[order]) != 0])
    rank = np.arange(order.size) - np.repeat(first, np.diff(np.r_[first, order.size]))
    kept[order[rank < bound]] = True
    return kept
