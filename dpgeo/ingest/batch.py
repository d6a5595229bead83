"""Interface of upload readers, batches of rows, and the record of refused rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.ingest.layout import PLAIN, Layout
from dpgeo.ingest.report import Reason, Tally, shorten
from dpgeo.ingest.schema import Columns, Wanted

TRIAL_ROWS = 5_000
"""Number of rows after which a trial ends, if the format can only be read from the beginning."""

PREVIEW_ROWS = 200
"""Number of rows at the start of a file that a preview reads."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows from a reader.

    `rows` int64 (n,) are row numbers, which identify examples of refused rows. `fields` holds a
    pyarrow array (n,) for each column of `Schema.wanted`, as text if the format has only text.
    `done` of `total` bytes or rows of the file have been read so far.
    """

    rows: NDArray[np.int64]
    fields: Mapping[str, Any]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Head:
    """The first rows of a file as text, and what the file states about its geometry ("" if none).

    `complete` says whether `names` are all columns of the file. In GeoJSON they may not be, since
    later features can have properties that the first ones lack. `layout` is the layout that the
    file's first line alone suggests. `likely` is the layout that suits both the first line and the
    following rows, in which the names were read. `encodings` are others in which the text makes as
    much sense. `file_format` is the code of the format in
    which the file was read (`forms`).
    """

    names: list[str]
    rows: list[list[str]]
    geometry: str = ""
    crs: str = ""
    complete: bool = True
    layout: Layout = PLAIN
    likely: Layout = PLAIN
    file_format: str = ""
    encodings: tuple[str, ...] = ()

    @property
    def names_stand_alone(self) -> bool:
        """Whether the rows had no say in how the names were read."""
        alike = replace(self.likely, encoding=self.layout.encoding) == self.layout
        plain = all(name.isascii() for name in self.names)
        return alike and (plain or self.likely.encoding == self.layout.encoding)


class ReadRows(Protocol):
    """Reads the rows of a file in batches.

    `crs` is the coordinate reference system that the owner declared. Rows that cannot be used are
    counted in `tally`. Raises InvalidInput for problems that do not concern single rows.
    """

    def __call__(
        self, path: Path, wanted: Wanted, tally: Tally, *, crs: str
    ) -> Iterator[Batch]: ...


def limit_rows(batches: Iterator[Batch], most: int) -> Iterator[Batch]:
    """Yield batches until they have about `most` rows.

    If all bytes of the file have been read by then, the rest of the rows is cheap and follows, so
    that `done` equals `total` only if no row was left out.
    """
    rows = 0
    for batch in batches:
        yield batch
        rows += len(batch.rows)
        if rows >= most and batch.done < batch.total:
            return


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader of one format: `read` yields all rows, `head` returns the first PREVIEW_ROWS as text.

    Both functions raise InvalidInput. One row must never affect how another is read. `sample`, if
    there is one, yields rows in small batches, from all parts of a long file. If the format can
    only be read from the beginning, they are the first rows. If `has_layouts`, all three also
    receive the declared layout; `head` receives None if no layout is declared and it has to guess
    one.
    """

    read: ReadRows
    head: Callable[..., Head]
    sample: ReadRows | None = None
    has_layouts: bool = False

    def rows(self, path: Path, wanted: Wanted, tally: Tally, columns: Columns) -> Iterator[Batch]:
        """Yield all rows, read as declared in `columns`."""
        return self._call(self.read, path, wanted, tally, columns)

    def sample_rows(
        self, path: Path, wanted: Wanted, tally: Tally, columns: Columns
    ) -> Iterator[Batch]:
        """Yield the rows that `sample` chooses of a long file, or without a `sample` the first."""
        batches = self._call(self.sample or self.read, path, wanted, tally, columns)
        return batches if self.sample else limit_rows(batches, TRIAL_ROWS)

    def first_rows(self, path: Path, layout: Layout | None = None) -> Head:
        """Return the file's first rows, read in the declared layout or in a guessed one."""
        return self.head(path, layout) if self.has_layouts else self.head(path)

    def _call(
        self, read: Any, path: Path, wanted: Wanted, tally: Tally, columns: Columns
    ) -> Iterator[Batch]:
        layout = {"layout": columns.layout} if self.has_layouts else {}
        batches: Iterator[Batch] = read(path, wanted, tally, crs=columns.crs, **layout)
        return batches


class Sieve:
    """Record of which rows in a batch are accepted; each row is refused at most once."""

    def __init__(self, rows: NDArray[np.int64], tally: Tally) -> None:
        self.kept: NDArray[np.bool_] = np.ones(len(rows), dtype=bool)
        self._rows = rows
        self._tally = tally

    def refuse(self, failing: NDArray[np.bool_], reason: Reason, values: Any = None) -> None:
        """Refuse the rows that the mask `failing` (n,) marks, and report some of their `values`."""
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
        # Python has no value for a timestamp in the year 290,000, for example.
        return "(a value that cannot be shown)"


def as_text(value: Any) -> str:
    """Convert a value to short text for a preview; geometry in WKB becomes WKT."""
    plain = as_python(value)
    if isinstance(plain, bytes):
        shape = shapely.from_wkb(plain, on_invalid="ignore")
        plain = plain if shape is None else shape.wkt
    return shorten(plain)
