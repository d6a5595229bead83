"""Queries for a table's columns, its rows and their checksum."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from dpgeo.core.errors import Conflict
from dpgeo.datasets.postgresql.columns import (
    GROWING,
    KINDS,
    TOTAL,
    Column,
    arrow_type,
    bounded,
    quoted,
)
from dpgeo.datasets.postgresql.session import quoted_table
from dpgeo.datasets.sources import SourceFile
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 32_768
"""Number of rows that are fetched at a time."""


@dataclass(slots=True)
class Query:
    """The parameters of an SQL query: the first of `values` is $1, the second $2, and so on."""

    values: list[Any] = field(default_factory=list)

    def give(self, value: Any, kind: str) -> str:
        """Add a parameter; return its placeholder in SQL."""
        self.values.append(value)
        return f"${len(self.values)}::{kind}"

    def give_list(self, numbers: NDArray[Any]) -> str:
        """Add a list of numbers as a parameter; return its placeholder in SQL."""
        return self.give(numbers, "float8[]" if numbers.dtype.kind == "f" else "bigint[]")


def does_not_grow(name: str) -> Conflict:
    """Return the error for a column that was declared as growing and cannot be used as such."""
    return Conflict(
        "The column {name!r} cannot say which rows are new: it must exist, and hold whole numbers, "
        "dates or times.",
        name=name,
    )


def growing_column(columns: Mapping[str, Column], name: str) -> Column:
    column = columns.get(name)
    if column is None or column.kind not in GROWING:
        raise does_not_grow(name)
    return column


def columns_of(connection: psycopg.Connection, table: str) -> dict[str, Column]:
    """Return the columns of a table by name, in the table's order."""
    found = connection.execute(f"SELECT * FROM {table} LIMIT 0".encode()).description or []
    types = connection.adapters.types
    columns = {}
    for each in found:
        info = types.get(each.type_code)
        name = info.name if info and each.type_code == info.oid else ""
        columns[each.name] = Column(quoted(each.name), name, KINDS.get(name, ""))
    return columns


def select_query(columns: Collection[Column], folder: str) -> str:
    return f"SELECT {', '.join(map(value_of, columns))} FROM {quoted_table(folder)}"


def value_of(column: Column) -> str:
    return TOTAL[column.kind].format(column.quoted)


def snapshot_condition(file: SourceFile, columns: Mapping[str, Column], query: Query) -> str:
    """Return an SQL condition for the rows of a table that are in a recorded snapshot.

    If a column only grows, these are the rows in which it is at most the value in `file.stamp`,
    which is added to the parameters of `query`; otherwise, they are all rows.
    """
    if not file.stamp:
        return "true"
    name, greatest = json.loads(file.stamp)
    if name not in columns or greatest is None:
        return "false"
    column = columns[name]
    return f"{column.quoted} <= {query.give(greatest, 'text')}::{column.type_name}"


def checksum_of(
    connection: psycopg.Connection,
    folder: str,
    file: SourceFile,
    columns: dict[str, Column],
    schema: Schema,
) -> tuple[int, str]:
    """Return a snapshot's number of rows, and a checksum of the declared columns.

    The checksum does not depend on the order of the rows. Raises Conflict for a column that is
    missing or has a type that is not supported.
    """
    names = list(dict.fromkeys(schema.wanted.values()))
    for name in names:
        if name not in columns or not columns[name].kind:
            raise Conflict(
                "The table {table!r} has no column {name!r} of a type that can be read; make a "
                "view that casts it.",
                table=folder,
                name=name,
            )
    given = Query()
    where = snapshot_condition(file, columns, given)
    row = f"ROW({', '.join(bounded(columns[name]) for name in names)})::text"
    digest = f"encode(sha256(convert_to({row}, 'UTF8')), 'hex')"
    query = f"""
        SELECT count(*), coalesce(sum(('x' || left(digest, 15))::bit(60)::bigint), 0)::text,
            coalesce(sum(('x' || substr(digest, 16, 15))::bit(60)::bigint), 0)::text
        FROM (SELECT {digest} AS digest FROM {quoted_table(folder)} WHERE {where} OFFSET 0) AS rows
        """
    number, one, two = connection.execute(query.encode(), given.values).fetchone() or (0, "", "")
    kinds = [columns[name].type_name for name in names]
    return number, json.dumps([names, kinds, one, two])


def fetched(
    connection: psycopg.Connection, query: str, parameters: Sequence[Any]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query, `ROWS` at a time."""
    with connection.cursor("dpgeo_rows", binary=True) as cursor:
        cursor.execute(query.encode(), list(parameters))
        yield from iter(partial(cursor.fetchmany, ROWS), [])


def tables_of(
    connection: psycopg.Connection,
    query: str,
    parameters: Sequence[Any],
    columns: dict[str, Column],
) -> Iterator[pa.Table]:
    """Yield the rows of a query as tables with the columns' names."""
    import pyarrow as pa

    types = list(map(arrow_type, columns.values()))
    for some in fetched(connection, query, parameters):
        values = zip(*some, strict=True)
        arrays = [pa.array(each, kind) for each, kind in zip(values, types, strict=True)]
        yield pa.table(dict(zip(columns, arrays, strict=True)))


def batches_of(
    tables: Iterator[pa.Table], schema: Schema, tally: Tally, total: int
) -> Iterator[Batch]:
    """Yield each table as a batch, and add its number of rows to `tally.read`.

    Columns are named by what they hold, such as "longitude", not by their names in the source.
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
        fields = {role: table.column(name).combine_chunks() for role, name in schema.wanted.items()}
        yield Batch(rows, fields, done, total)
