"""Readers for formats in which a row is a record of named values with their own types.

A reader yields one record after the other. Each is a mapping of names to values, or the reason why
the record cannot be used. A record never affects another. `GEOMETRY` is the name of a pair of
coordinates, x first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dpgeo.ingest.batch import PREVIEW_ROWS, Batch, Head, Reader, Sieve, limit_rows
from dpgeo.ingest.crs import WGS84, check_stated
from dpgeo.ingest.header import check_names, positions
from dpgeo.ingest.layout import PLAIN, Layout
from dpgeo.ingest.report import Reason, Tally, shorten
from dpgeo.ingest.schema import Role, Wanted
from dpgeo.ingest.text import lenient_text
from dpgeo.ingest.typed_values import Refusals, texts

GEOMETRY = "geometry"
BATCH_ROWS = 5_000
SAMPLE_ROWS = 500

Record = Mapping[str, Any] | Reason


@dataclass(frozen=True, slots=True)
class Table:
    """The records of one file.

    `names` are the columns, or None if later records may have other columns. `progress()` returns
    how much of `total`, in bytes or rows, has been read.
    """

    names: list[str] | None
    records: Iterator[Record]
    progress: Callable[[], int]
    total: int
    geometry: str = ""
    crs: str = ""
    layout: Layout = PLAIN


Open = Callable[[Path, Layout | None], AbstractContextManager[Table]]


def record_reader(open_table: Open) -> Reader:
    """Return the reader of a format, given a function that opens its files."""

    def read(
        path: Path,
        wanted: Wanted,
        tally: Tally,
        *,
        crs: str = WGS84,
        layout: Layout = PLAIN,
        batch_rows: int = BATCH_ROWS,
    ) -> Iterator[Batch]:
        with open_table(path, layout) as table:
            if table.names is not None:
                positions(wanted, table.names)
            if Role.GEOMETRY in wanted:
                check_stated(table.crs, crs)
            done = 0
            while records := list(islice(table.records, batch_rows)):
                numbers = np.arange(done, done + len(records), dtype=np.int64) + 1
                done += len(records)
                tally.read += len(records)
                fields, sieve = _fields(records, wanted, Sieve(numbers, tally), table)
                yield Batch(numbers[sieve.kept], fields, table.progress(), table.total)

    def head(path: Path, layout: Layout | None = None) -> Head:
        with open_table(path, layout) as table:
            records = [each for each in islice(table.records, PREVIEW_ROWS) if each is not None]
            return _head(table, [each for each in records if not isinstance(each, Reason)])

    def sample(
        path: Path, wanted: Wanted, tally: Tally, *, crs: str = WGS84, layout: Layout = PLAIN
    ) -> Iterator[Batch]:
        batches = read(path, wanted, tally, crs=crs, layout=layout, batch_rows=SAMPLE_ROWS)
        yield from limit_rows(batches, BATCH_ROWS)

    return Reader(read, head, sample, has_layouts=True)


def _head(table: Table, records: list[Mapping[str, Any]]) -> Head:
    seen = dict.fromkeys(name for each in records for name in each)
    names = list(seen) if table.names is None else table.names
    check_names(names or [""])
    rows = [[_shown(each.get(name)) for name in names] for each in records]
    return Head(
        names,
        rows,
        table.geometry,
        table.crs,
        complete=table.names is not None,
        layout=table.layout,
        likely=table.layout,
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"POINT ({value[0]:g} {value[1]:g})"
    return shorten(value)


def _fields(
    records: list[Record], wanted: Wanted, sieve: Sieve, table: Table
) -> tuple[dict[str, Any], Sieve]:
    """Return the values of the usable records, as one array for each declared field, and `sieve`.

    All other records are marked as refused in `sieve`.
    """
    refused = Refusals()
    for index, record in enumerate(records):
        if isinstance(record, Reason):
            refused.add(record, index)
    refused.tell(sieve, [""] * len(records))
    mappings = [{} if isinstance(record, Reason) else record for record in records]
    fields: dict[str, Any] = {}
    for role, name in wanted.items():
        values = [each.get(name) for each in mappings]
        if role == Role.GEOMETRY and name != table.geometry:
            fields[role] = lenient_text(texts([_plain(value) for value in values], role, sieve))
        elif role == Role.GEOMETRY:
            none = np.array([value is None for value in values], dtype=bool)
            sieve.refuse(none, Reason.GEOMETRY_MISSING)
            pairs = [(np.nan, np.nan) if value is None else value for value in values]
            fields[Role.LONGITUDE] = pa.array([float(x) for x, _ in pairs], pa.float64())
            fields[Role.LATITUDE] = pa.array([float(y) for _, y in pairs], pa.float64())
        else:
            fields[role] = texts([_plain(value) for value in values], role, sieve)
    mask = pa.array(sieve.kept)
    return {role: values.filter(mask) for role, values in fields.items()}, sieve


def _plain(value: Any) -> Any:
    """Return a date or time as ISO 8601 text, and any other value unchanged."""
    return value.isoformat() if isinstance(value, date | datetime) else value
