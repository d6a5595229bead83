"""Rows of Parquet files in registered folders, which are not uploaded.

Every row is read by the functions that read an uploaded Parquet file, so the privacy argument of
`ingest.canonical` holds: a row's canonical row depends on that row, the declared schema, the key
and the list of erased persons. In addition, it depends on the names of the folders in which its
file lies (`hive_columns`), which are the same for all rows of the file and therefore part of each.
Whether a row is left out, because only some times are wanted, depends on it alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpgeo.ingest.batch import Batch
from dpgeo.ingest.canonical import canonical_rows
from dpgeo.ingest.parquet_reader import read_parquet, readable
from dpgeo.ingest.persons import Known, person_names
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Role, Schema, Wanted

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Name that Hive and Spark give to the folder of rows without a value."""


def hive_columns(path: str) -> dict[str, str | None]:
    """Return the columns that the names of a file's folders state, as in `day=1/a.parquet`.

    `path` is relative, with forward slashes. The values are texts, or None for a missing one.
    """
    folders = PurePosixPath(path).parts[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder.strip("="))
    return {unquote(name): None if value == NO_VALUE else unquote(value) for name, value in pairs}


def source_rows(
    path: Path,
    named: Mapping[str, str | None],
    schema: Schema,
    key: bytes,
    tally: Tally,
    *,
    erased: Collection[bytes] = (),
    between: tuple[int, int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the canonical rows of one Parquet file, in the order of the file.

    `named` are the columns that are not in the file, with the value that all of its rows have
    (`hive_columns`). `between` limits the rows to times from its first number on, and before its
    second one, in seconds since 1970; rows without a time are then left out. `tally` counts all
    rows that are read and all that are refused, whatever the limits. Raises InvalidInput for an
    unreadable file, a missing column or one of an unsuitable type.
    """
    known: Known = {}
    for batch in source_batches(path, named, schema.wanted, tally, schema.columns.crs):
        rows = canonical_rows(batch, schema, key, tally, erased, known)
        if between is not None:
            inside = pc.and_(
                pc.greater_equal(rows["time"], between[0]), pc.less(rows["time"], between[1])
            )
            rows = rows.filter(inside)
        if rows.num_rows:
            yield rows


def names_in(path: Path, named: Mapping[str, str | None], schema: Schema) -> Iterator[Any]:
    """Yield the identifiers of persons in a file, as texts (`persons.person_names`)."""
    wanted: Wanted = {Role.PERSON: schema.columns.person}
    for batch in source_batches(path, named, wanted, Tally(), schema.columns.crs):
        yield person_names(batch.fields[Role.PERSON])


def source_batches(
    path: Path, named: Mapping[str, str | None], wanted: Wanted, tally: Tally, crs: str
) -> Iterator[Batch]:
    """Yield the wanted columns of a file.

    `named` holds values from the names of the file's folders, for columns that the file lacks.
    """
    with readable():
        present = set(pq.read_schema(path).names)
    stated = {
        role: named[name] for role, name in wanted.items() if name in named and name not in present
    }
    read = read_parquet(
        path, {role: name for role, name in wanted.items() if role not in stated}, tally, crs=crs
    )
    return (_with_stated(batch, stated) for batch in read)


def _with_stated(batch: Batch, stated: Mapping[str, str | None]) -> Batch:
    """Add the `stated` columns, by role, to a batch; each has the same value in all rows."""
    if not stated:
        return batch
    size = len(batch.rows)
    added = {role: pa.array([value] * size, pa.string()) for role, value in stated.items()}
    return replace(batch, fields={**batch.fields, **added})
