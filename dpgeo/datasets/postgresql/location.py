"""Databases whose tables can be registered as data, and reading of the rows that were recorded."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.postgresql.columns import Column
from dpgeo.datasets.postgresql.errors import refusal
from dpgeo.datasets.postgresql.rows import (
    Query,
    batches_of,
    checksum_of,
    columns_of,
    growing_column,
    select_query,
    snapshot_condition,
    tables_of,
)
from dpgeo.datasets.postgresql.session import MOST_SECONDS, connected, quoted_table
from dpgeo.datasets.sources import Location, SourceFile
from dpgeo.datasets.storage import work_folder
from dpgeo.ingest.batch import PREVIEW_ROWS
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

PREVIEW_SECONDS = 20
"""Longest time that the database may work on one query while somebody waits for a page."""


@dataclass(frozen=True, slots=True)
class TableLocation(Location):
    """A database that DPGEO_SOURCES names for an organisation; `root` is its connection URL."""

    root: str = field(repr=False)

    def called(self, folder: str) -> str:
        """Return the name under which pages show the table."""
        return f"{self.name}/{folder}"

    def check_growing(self, folder: str, as_of: str) -> None:
        """Raise Conflict unless the table has a column `as_of` of whole numbers, days or times."""
        with self.reading(folder, PREVIEW_SECONDS) as connection:
            growing_column(columns_of(connection, quoted_table(folder)), as_of)

    def files(self, folder: str) -> list[SourceFile]:
        """Return a single SourceFile, which stands for the table or view named `folder`.

        Raises InvalidInput if it cannot be read, or Conflict if the database does not answer.
        """
        name = quoted_table(folder)
        with self.reading(folder, PREVIEW_SECONDS) as connection:
            if self._encoding(connection) != "UTF8":
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
            with self.reading(folder, PREVIEW_SECONDS) as connection:
                columns = columns_of(connection, quoted_table(folder))
                known = {name: each for name, each in columns.items() if each.kind}
                query = f"{select_query(known.values(), folder)} LIMIT {PREVIEW_ROWS}"
                head = next(tables_of(connection, query, (), known), None)
            if head is None:
                raise InvalidInput("The table has no rows.", field="folder")
            pq.write_table(head, path)
            yield path

    def recorded(self, folder: str, file: SourceFile, as_of: str, schema: Schema) -> SourceFile:
        """Return `file`, which stands for the table, with what identifies the table's present rows.

        That is their number, a checksum and the greatest value of `as_of`, a column that only
        grows, or "" for none. Raises Conflict if the table cannot be used.
        """
        if file.footer:
            return file
        with self.reading(folder) as connection:
            columns = columns_of(connection, quoted_table(folder))
            stamp = ""
            if as_of:
                column = growing_column(columns, as_of)
                query = f"SELECT max({column.quoted})::text FROM {quoted_table(folder)}"
                (greatest,) = connection.execute(query.encode()).fetchone() or (None,)
                stamp = json.dumps([as_of, greatest])
            stamped = replace(file, stamp=stamp)
            number, checksum = checksum_of(connection, folder, stamped, columns, schema)
            return replace(stamped, size=number, footer=checksum)

    def rows(
        self,
        folder: str,
        file: SourceFile,
        schema: Schema,
        key: bytes,
        tally: Tally,
        *,
        erased: Collection[bytes],
        people: tuple[int, int] | None,
        between: tuple[int, int] | None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the canonical rows of the snapshot.

        Raises Conflict if the table has other rows now.
        """
        from dpgeo.ingest.source_rows import rows_of_batches

        with self.reading(folder) as connection:
            columns = self.checked(connection, folder, file, schema)
            wanted = {name: columns[name] for name in schema.wanted.values()}
            query = Query()
            condition = snapshot_condition(file, columns, query)
            text = f"{select_query(wanted.values(), folder)} WHERE {condition}"
            if schema.unit is Unit.RECORD:
                # If records are counted in several passes or shards, they are told apart by their
                # position in the result, so every query must return them in the same order.
                text += " ORDER BY " + ", ".join(str(place + 1) for place in range(len(wanted)))
            tables = tables_of(connection, text, query.values, wanted)
            yield from rows_of_batches(
                batches_of(tables, schema, tally, file.size),
                schema,
                key,
                tally,
                erased=erased,
                people=people,
                between=between,
            )

    def checked(
        self, connection: psycopg.Connection, folder: str, file: SourceFile, schema: Schema
    ) -> dict[str, Column]:
        """Return the table's columns by name.

        Raises Conflict if its rows are not the snapshot's.
        """
        columns = columns_of(connection, quoted_table(folder))
        if checksum_of(connection, folder, file, columns, schema) != (file.size, file.footer):
            raise Conflict(
                "The table {table!r} does not have the rows that were recorded: some were changed "
                "or deleted or, without a column that only grows, added. Have the table read "
                "again.",
                table=folder,
            )
        return columns

    @staticmethod
    def _encoding(connection: psycopg.Connection) -> str:
        (name,) = connection.execute("SHOW server_encoding").fetchone() or ("",)
        return str(name)

    @contextmanager
    def reading(self, folder: str, seconds: int = MOST_SECONDS) -> Iterator[psycopg.Connection]:
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
