"""Databases whose tables can be registered as data, and reading of their rows."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.postgresql.columns import (
    WHOLE,
    Column,
    arrow_type,
    columns_of,
    declared_columns,
    growing_column,
)
from dpgeo.datasets.postgresql.errors import refusal
from dpgeo.datasets.postgresql.session import MAX_SECONDS, connected, quoted_table
from dpgeo.datasets.sources import Location, SourceFile
from dpgeo.datasets.storage import work_folder
from dpgeo.ingest.batch import PREVIEW_ROWS, Batch
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

ROWS = 32_768
"""Number of rows that are fetched at a time."""

PREVIEW_SECONDS = 20
"""Longest time that the database may work on one query while somebody waits for a page."""


@dataclass(frozen=True, slots=True)
class Span:
    """Rows of a table in which the column `column`, which only grows, is in a range of values.

    The values, as PostgreSQL writes them, are greater than `after` and at most `until`. `after` is
    None for all rows from the beginning, and `until` is None before the rows are read. `rows` is
    how many rows the table had up to `until` when they were read; before that, up to `after`.
    """

    column: str
    after: str | None = None
    until: str | None = None
    rows: int = 0

    @classmethod
    def of(cls, file: SourceFile) -> Span | None:
        """Return the span of a recorded table, or None if no growing column is declared."""
        return cls(*json.loads(file.stamp)) if file.stamp else None

    def recorded(self, file: SourceFile) -> SourceFile:
        """Return what stands for a table, with this span."""
        return replace(file, stamp=json.dumps([self.column, self.after, self.until, self.rows]))


@dataclass(frozen=True, slots=True)
class TableLocation(Location):
    """A database that DPGEO_SOURCES names for an organisation; `root` is its connection URL."""

    root: str = field(repr=False)

    def called(self, folder: str) -> str:
        """Return the name under which pages show the table."""
        return f"{self.name}/{folder}"

    def check_growing(self, folder: str, as_of: str) -> None:
        """Raise Conflict unless the table has a column `as_of` of whole numbers, days or times."""
        with self._session(folder, PREVIEW_SECONDS) as connection:
            growing_column(columns_of(connection, quoted_table(folder)), as_of)

    def files(self, folder: str) -> list[SourceFile]:
        """Return a single SourceFile, which stands for the table or view named `folder`.

        Raises InvalidInput if it cannot be read, or Conflict if the database does not answer.
        """
        name = quoted_table(folder)
        with self._session(folder, PREVIEW_SECONDS) as connection:
            if connection.execute("SHOW server_encoding").fetchone() != ("UTF8",):
                raise InvalidInput("The database's encoding must be UTF8.", field="folder")
            if not columns_of(connection, name):
                raise InvalidInput("The table has no columns.", field="folder")
        return [SourceFile(path=folder, size=0, stamp="")]

    @contextmanager
    def opened(self, folder: str, file: SourceFile) -> Iterator[Path]:
        """Yield the path of a temporary Parquet file with the table's first rows."""
        import pyarrow.parquet as pq

        with work_folder() as scratch:
            path = scratch / "head.parquet"
            with self._session(folder, PREVIEW_SECONDS) as connection:
                columns = [
                    each
                    for each in columns_of(connection, quoted_table(folder)).values()
                    if each.kind
                ]
                head = next(_tables(connection, folder, columns, f"LIMIT {PREVIEW_ROWS}"), None)
            if head is None:
                raise InvalidInput("The table has no rows.", field="folder")
            pq.write_table(head, path)
            yield path

    @contextmanager
    def reading(
        self, folder: str, file: SourceFile, schema: Schema, tally: Tally
    ) -> Iterator[tuple[SourceFile, Iterator[Batch]]]:
        """Yield what identifies the table's rows, and the rows, all in one transaction.

        If a growing column is declared, these are the rows of the recorded span or, if it has no
        end yet, those up to the greatest value now. Raises Conflict if the table cannot be read,
        or has no new rows.
        """
        with self._session(folder) as connection:
            columns = columns_of(connection, quoted_table(folder))
            selected = declared_columns(columns, folder, schema.wanted.values())
            where, values = "", list[str]()
            if span := Span.of(file):
                column = growing_column(columns, span.column)
                span = _ended(connection, folder, column, span)
                file = span.recorded(file)
                where, values = _within(column, span)
            tables = _tables(connection, folder, selected, where, values)
            yield file, _batches(tables, schema, tally)

    @contextmanager
    def _session(self, folder: str, seconds: int = MAX_SECONDS) -> Iterator[psycopg.Connection]:
        """Open a read-only transaction, each of whose queries may take `seconds` seconds.

        Errors of the database become Conflicts (`postgresql.errors`).
        """
        try:
            with connected(self.root, seconds) as connection:
                yield connection
        except psycopg.Error as error:
            kind, refused = refusal(folder, error)
            logger.error("registered table: %s", kind)
            raise refused from None


def _ended(connection: psycopg.Connection, folder: str, column: Column, span: Span) -> Span:
    """Return a span that ends, if it has no end yet, with the greatest value now.

    Raises Conflict if no row is new, or if rows that were not read before have smaller values, as
    those of a transaction that was committed late.
    """
    if span.until is not None:
        return span
    where, _ = _within(column, Span(span.column))
    query = (
        f"SELECT max({column.quoted})::text, count(*), "
        f"count(*) FILTER (WHERE {column.quoted} <= $1::text::{column.type_name}) "
        f"FROM {quoted_table(folder)} {where}"
    )
    found = connection.execute(query.encode(), [span.after]).fetchone()
    greatest, rows, before = found or (None, 0, 0)
    if before > span.rows:
        raise Conflict(
            "The table {table!r} has rows that were not there when it was last read, though their "
            "{column!r} is not greater than what was read then. Give these rows greater values.",
            table=folder,
            column=column.name,
        )
    if span.after is not None and rows == before:
        raise Conflict("The table {table!r} has no new rows.", table=folder)
    return replace(span, until=greatest, rows=rows)


def _within(column: Column, span: Span) -> tuple[str, list[str]]:
    """Return SQL for the rows of a span, and its parameters.

    Infinite days and times are left out: no later value would be greater.
    """
    conditions = [f"{column.quoted} IS NOT NULL"]
    if column.kind != WHOLE:
        conditions.append(f"isfinite({column.quoted})")
    values = []
    for sign, limit in ((">", span.after), ("<=", span.until)):
        if limit is not None:
            values.append(limit)
            conditions.append(f"{column.quoted} {sign} ${len(values)}::text::{column.type_name}")
    return f"WHERE {' AND '.join(conditions)}", values


def _tables(
    connection: psycopg.Connection,
    folder: str,
    columns: Sequence[Column],
    rest: str,
    values: Sequence[Any] = (),
) -> Iterator[pa.Table]:
    """Yield the rows of a table, `ROWS` at a time; `rest` is SQL that follows the table's name."""
    import pyarrow as pa

    selected = ", ".join(each.selected for each in columns)
    query = f"SELECT {selected} FROM {quoted_table(folder)} {rest}"
    names, types = [each.name for each in columns], [arrow_type(each) for each in columns]
    with connection.cursor("dpgeo_rows", binary=True) as cursor:
        cursor.execute(query.encode(), list(values))
        for rows in iter(partial(cursor.fetchmany, ROWS), []):
            arrays = [
                pa.array(each, kind)
                for each, kind in zip(zip(*rows, strict=True), types, strict=True)
            ]
            yield pa.table(arrays, names=names)


def _batches(tables: Iterator[pa.Table], schema: Schema, tally: Tally) -> Iterator[Batch]:
    """Yield each table as a batch, and add its number of rows to `tally.read`.

    How many rows will follow is not known, so a batch's `total` is 0.
    """
    from dpgeo.ingest.parquet_reader import check_type

    done = 0
    for table in tables:
        if not done:
            for role, name in schema.wanted.items():
                check_type(role, table.schema.field(name))
        rows = np.arange(done, done + table.num_rows, dtype=np.int64) + 1
        done += table.num_rows
        tally.read += table.num_rows
        yield Batch(rows, _fields(table, schema.wanted), done, 0)


def _fields(table: pa.Table, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return a table's columns by what they hold, such as "longitude"."""
    return {role: table.column(name).combine_chunks() for role, name in wanted.items()}
