"""A batch of rows between a reader and the canonical form, and the sieve that refuses rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.ingest.report import Reason, Tally


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows as a reader hands them over.

    `rows` int64 (n,) are row numbers for examples; `fields` holds a pyarrow array (n,) for each
    column of `Schema.wanted`, text where the format has nothing else. `done` of `total` says how
    far the reader has come.
    """

    rows: NDArray[np.int64]
    fields: Mapping[str, Any]
    done: int
    total: int


class Sieve:
    """Which rows of a batch are still accepted. A row is refused once, for the first reason."""

    def __init__(self, rows: NDArray[np.int64], tally: Tally) -> None:
        self.kept: NDArray[np.bool_] = np.ones(len(rows), dtype=bool)
        self._rows = rows
        self._tally = tally

    def refuse(self, failing: NDArray[np.bool_], reason: Reason, values: Any = None) -> None:
        """Refuse the rows where `failing`; `values` (pyarrow array or sequence) for examples."""
        index = np.flatnonzero(self.kept & failing)
        if not len(index):
            return
        self.kept[index] = False
        self._tally.refuse(reason, self._rows[index], lambda i: _plain(values, int(index[i])))


def _plain(values: Any, index: int) -> object:
    return "" if values is None else as_python(values[index])


def as_python(value: Any) -> object:
    """A pyarrow scalar as a Python object, as far as Python has one; other values unchanged."""
    try:
        return value.as_py() if hasattr(value, "as_py") else value
    except (ValueError, OverflowError):
        return "(a value that cannot be shown)"  # such as a timestamp in the year 290,000
