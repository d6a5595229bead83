"""Made-up trips for the public pages: the commonest starts and ends, and numbers of moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from dpgeo.core.released import Content, TripsRelease
from dpgeo.postprocess.flow_regions import square_names
from dpgeo.postprocess.layers import Layer
from dpgeo.postprocess.layers.trips import ENDS_NAME, LENGTHS_NAME, TRIPS_NAME
from dpgeo.postprocess.summary import counted

MAX_ROWS = 20
"""Number of rows, each a pair of start and end, in the table of the commonest pairs."""


@dataclass(frozen=True, slots=True)
class EndsRow:
    """The noisy number of trips from one square to another, with its margin."""

    start: str
    end: str
    value: int
    margin: float


@dataclass(frozen=True, slots=True)
class LengthRow:
    """The noisy number of trips with `moves` moves from square to square, with its margin."""

    moves: int
    value: int
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TripTables:
    """The tables of made-up trips on a page, which need no script.

    `drawn` is the number of made-up trips on the map. `listed` is the number of pairs
    whose noisy counts are at least `least`, and `pairs` has the largest of them. `lengths` has a
    row for each number of moves between squares that a trip may have, if the count of such trips
    stands out from the noise.
    """

    drawn: int
    listed: int
    least: int
    pairs: tuple[EndsRow, ...]
    lengths: tuple[LengthRow, ...]


@singledispatch
def trip_tables(content: Content, shown: Sequence[Layer]) -> TripTables | None:
    """Return the tables on the page of a map of made-up trips, or None for other content."""
    return None


@trip_tables.register
def _trip_tables(content: TripsRelease, shown: Sequence[Layer]) -> TripTables:
    layers = {layer.name: layer for layer in shown}
    ends, lengths = layers[ENDS_NAME], layers[LENGTHS_NAME]
    value, margin, _ = counted(ends)
    largest = np.argsort(-value, kind="stable")[:MAX_ROWS].tolist()
    names = [
        square_names(ends.columns[f"{each}_row"], ends.columns[f"{each}_column"])
        for each in ("start", "end")
    ]
    of_moves, half, least = counted(lengths)
    return TripTables(
        drawn=len(layers[TRIPS_NAME]),
        listed=len(ends),
        least=ends.least_listed or 0,
        pairs=tuple(
            EndsRow(names[0][each], names[1][each], int(value[each]), float(margin[each]))
            for each in largest
        ),
        lengths=tuple(
            LengthRow(number + 1, int(of_moves[number]), float(half[number]))
            for number in np.flatnonzero(of_moves >= least).tolist()
        ),
    )
