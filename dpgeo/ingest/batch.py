"""What a reader of an upload format is, its batches of rows, and the sieve that refuses rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.ingest.report import Reason, Tally, shorten
from dpgeo.ingest.schema import Wanted

PREVIEW_ROWS = 200
"""Rows at the head of a file that a preview reads."""


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


@dataclass(frozen=True, slots=True)
class Head:
    """The first rows of a file as text, and what it says of its geometry ("" where nothing).

    `complete` says whether `names` are all columns: later features of GeoJSON may have others.
    """

    names: list[str]
    rows: list[list[str]]
    geometry: str = ""
    crs: str = ""
    complete: bool = True


class ReadRows(Protocol):
    """The rows of a file in batches.

    `crs` is the coordinate reference system that the owner declared. Rows that cannot be used are
    refused to the tally. Raises InvalidInput for what no row-by-row rule can mend.
    """

    def __call__(
        self, path: Path, wanted: Wanted, tally: Tally, *, crs: str
    ) -> Iterator[Batch]: ...


@dataclass(frozen=True, slots=True)
class Reader:
    """How files of one format are read: all rows in batches, and the first PREVIEW_ROWS as text.

    Both raise InvalidInput. One row must never decide how another one is read.
    """

    read: ReadRows
    head: Callable[[Path], Head]


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


def as_text(value: Any) -> str:
    """A value for a preview, cut short; well-known binary as the geometry it stands for."""
    plain = as_python(value)
    if isinstance(plain, bytes):
        shape = shapely.from_wkb(plain, on_invalid="ignore")
        plain = plain if shape is None else shape.wkt
    return shorten(plain)
