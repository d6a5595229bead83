"""Rows of trips in the canonical file, in the order in which they make up paths.

Privacy argument. Rows are ordered by time and position among a person's own rows alone; rows that
are equal in both are in the same cell, so their order changes no path. A new trip begins where the
time since the person's last row is longer than the gap. The key of a trip is a salted hash of the
person and the trip's first row or, if a row is a trip, of the whole row. Two trips of a person
begin at different times, since rows at the same time are in one trip. So both the trips and their
keys are functions of the person's own rows, and `privacy.trip_features` may rely on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.trip_paths import SECONDS_A_MINUTE, TripPaths
from dpgeo.privacy.trip_features import OrderedRows

ROW_BYTES = 200
"""Bytes of memory for each row of a pass: its columns, a sorted copy, and the cells of its path."""

FOLLOWING = """
SELECT person_high, person_low, x, y, time,
    hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT, person_high, person_low, x, y, time)) AS word
FROM read_parquet($path)
WHERE time IS NOT NULL AND person_high BETWEEN $first_person::UBIGINT AND $last_person::UBIGINT
ORDER BY person_high, person_low, time, x, y"""

BY_ROW = """
SELECT person_high, person_low, x, y, destination_x, destination_y,
    hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT, person_high, person_low,
        x, y, time, destination_x, destination_y)) AS word
FROM read_parquet($path)
WHERE destination_x IS NOT NULL AND destination_y IS NOT NULL
    AND person_high BETWEEN $first_person::UBIGINT AND $last_person::UBIGINT
ORDER BY person_high, person_low, word"""


def rows_of(found: Mapping[str, NDArray[Any]], paths: TripPaths) -> OrderedRows:
    """Return the rows of trips from `found`, the columns of the query's result.

    Rows outside the grid are left out.
    """
    high, low = (found[name].astype(np.uint64) for name in ("person_high", "person_low"))
    cell = paths.grid.locate(found["x"], found["y"])
    inside = cell >= 0
    if not paths.gap_minutes:
        end = paths.grid.locate(found["destination_x"], found["destination_y"])
        inside &= end >= 0
        unit = _numbered(high[inside], low[inside])
        return OrderedRows(
            unit=np.repeat(unit, 2),
            trip=np.repeat(np.arange(unit.size), 2),
            cell=np.stack([cell[inside], end[inside]], axis=1).ravel(),
            key=np.repeat(found["word"][inside].astype(np.uint64), 2),
        )
    unit = _numbered(high[inside], low[inside])
    time = found["time"][inside].astype(np.int64)
    apart = (np.diff(unit) != 0) | (np.diff(time) > paths.gap_minutes * SECONDS_A_MINUTE)
    return OrderedRows(
        unit=unit,
        trip=np.cumsum(np.r_[False, apart][: unit.size]).astype(np.int64),
        cell=cell[inside],
        key=found["word"][inside].astype(np.uint64),
    )


def _numbered(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number (n,) of each row's person; rows are ordered by person."""
    changes = np.r_[False, (high[1:] != high[:-1]) | (low[1:] != low[:-1])]
    return np.cumsum(changes[: high.size]).astype(np.int64)
