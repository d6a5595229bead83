"""Interface of upload readers, batches of rows, and the sieve of refused rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.ingest.layout import PLAIN, Layout
from dpgeo.ingest.report import Reason, Tally, shorten
from dpgeo.ingest.schema import Columns, Wanted

PREVIEW_ROWS = 200
"""Rows at the start of a file that a preview reads."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows from a reader.

    `rows` int64 (n,) are row numbers, by which examples of refused rows are listed. `fields` holds
    a pyarrow array (n,) for each column of `Schema.wanted`, as text if the format has only text.
    `done` and `total` are the reader's progress.
    """

    rows: NDArray[np.int64]
    fields: Mapping[str, Any]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Head:
    """The first rows of a file as text, and its geometry metadata ("" for none).

    `complete` says whether `names` are all columns of the file. In GeoJSON they may not be, since
    later features can have properties that the first ones lack. `layout` is how the names were
    read, by the file's first line alone, and `likely` the layout that suits its first rows, too.
    """

    names: list[str]
    rows: list[list[str]]
    geometry: str = ""
    crs: str = ""
    complete: bool = True
    layout: Layout = PLAIN
    likely: Layout = PLAIN


class ReadRows(Protocol):
    """Reads the rows of a file in batches.

    `crs` is the coordinate reference system that the owner declared. Rows that cannot be used are
    counted in `tally`. Raises InvalidInput for problems that do not concern single rows.
    """

    def __call__(
        self, path: Path, wanted: Wanted, tally: Tally, *, crs: str
    ) -> Iterator[Batch]: ...


@dataclass(frozen=True, slots=True)
class Reader:
    """A format's reader: `read` gives all rows, `head` the first PREVIEW_ROWS as text.

    Both raise InvalidInput. One row must never affect how another is read. `sample`, if there is
    one, gives rows of all parts of a long file, in small batches. Where `has_layouts`, all of them
    also take the declared layout, `head` None for a layout to be guessed.
    """

    read: ReadRows
    head: Callable[..., Head]
    sample: ReadRows | None = None
    has_layouts: bool = False

    def rows(self, path: Path, wanted: Wanted, tally: Tally, columns: Columns) -> Iterator[Batch]:
        """Yield all rows, as declared."""
        return self._call(self.read, path, wanted, tally, columns)

    def sample_rows(
        self, path: Path, wanted: Wanted, tally: Tally, columns: Columns
    ) -> Iterator[Batch]:
        """Yield rows of all parts of the file if it is a long one, else all rows."""
        return self._call(self.sample or self.read, path, wanted, tally, columns)

    def first_rows(self, path: Path, layout: Layout | None = None) -> Head:
        """Return the head, in the declared layout or a guess at it."""
        return self.head(path, layout) if self.has_layouts else self.head(path)

    def _call(
        self, read: Any, path: Path, wanted: Wanted, tally: Tally, columns: Columns
    ) -> Iterator[Batch]:
        layout = {"layout": columns.layout} if self.has_layouts else {}
        batches: Iterator[Batch] = read(path, wanted, tally, crs=columns.crs, **layout)
        return batches


class Sieve:
    """Tracks which rows of a batch are accepted; a row is refused only once."""

    def __init__(self, rows: NDArray[np.int64], tally: Tally) -> None:
        self.kept: NDArray[np.bool_] = np.ones(len(rows), dtype=bool)
        self._rows = rows
        self._tally = tally

    def refuse(self, failing: NDArray[np.bool_], reason: Reason, values: Any = None) -> None:
        """Refuse the rows that `failing` marks, with some of `values` as examples."""
        index = np.flatnonzero(self.kept & failing)
        if not len(index):
            return
        self.kept[index] = False
        self._tally.refuse(reason, self._rows[index], lambda i: _plain(values, int(index[i])))


def _plain(values: Any, index: int) -> object:
    return "" if values is None else as_python(values[index])


def as_python(value: Any) -> object:
    """Convert a pyarrow scalar to a Python object where possible."""
    try:
        return value.as_py() if hasattr(value, "as_py") else value
    except (ValueError, OverflowError):
        return "(a value that cannot be shown)"  # such as a timestamp in the year 290,000


def as_text(value: Any) -> str:
    """Convert a value to short text for a preview; geometry in WKB becomes WKT."""
    plain = as_python(value)
    if isinstance(plain, bytes):
        shape = shapely.from_wkb(plain, on_invalid="ignore")
        plain = plain if shape is None else shape.wkt
    return shorten(plain)
