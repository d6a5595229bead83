"""Kinds of PostgreSQL columns, and the SQL that selects each kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from dpgeo.core.errors import Conflict
from dpgeo.ingest.report import MAX_FIELD_BYTES

WHOLE, FLOAT, DECIMAL, TEXT, UUID = "whole", "float", "decimal", "text", "uuid"
DATE, LOCAL, MOMENT, CLOCK, BOOLEAN, BYTES = "date", "local", "moment", "clock", "boolean", "bytes"

KINDS = {
    "int2": WHOLE,
    "int4": WHOLE,
    "int8": WHOLE,
    "float4": FLOAT,
    "float8": FLOAT,
    "numeric": DECIMAL,
    "text": TEXT,
    "varchar": TEXT,
    "bpchar": TEXT,
    "uuid": UUID,
    "date": DATE,
    "timestamp": LOCAL,
    "timestamptz": MOMENT,
    "time": CLOCK,
    "bool": BOOLEAN,
    "bytea": BYTES,
}
"""The kind of value, such as a whole number, that each type of PostgreSQL holds."""

SELECTED = {
    WHOLE: "{0}::bigint",
    FLOAT: "{0}::float8",
    DECIMAL: f"left({{0}}::text, {MAX_FIELD_BYTES + 1})",
    TEXT: f'left({{0}}::text COLLATE "C", {MAX_FIELD_BYTES + 1})',
    UUID: "{0}::text",
    DATE: "CASE WHEN isfinite({0}) THEN ({0} - DATE '1970-01-01')::bigint * 86400 END",
    LOCAL: "CASE WHEN isfinite({0}) THEN floor(extract(epoch FROM {0}))::bigint END",
    MOMENT: "CASE WHEN isfinite({0}) THEN floor(extract(epoch FROM {0}))::bigint END",
    CLOCK: "{0}::text",
    BOOLEAN: "{0}",
    BYTES: f"substr({{0}}, 1, {MAX_FIELD_BYTES + 1})",
}
"""SQL that selects each kind of column, without an error for any value.

Infinite times become nulls, decimal numbers become texts, and long texts are cut beyond the length
at which a row is refused.
"""

GROWING = (WHOLE, DATE, LOCAL, MOMENT)
"""Kinds of a column that may be declared as growing: rows added later have greater values."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its type's name and its kind ("" if not supported)."""

    name: str
    type_name: str
    kind: str

    @property
    def quoted(self) -> str:
        """The column's name in SQL."""
        return quoted(self.name)

    @property
    def selected(self) -> str:
        """SQL for the column's values."""
        return SELECTED[self.kind].format(self.quoted)


def quoted(name: str) -> str:
    """Return a name in quotation marks for SQL."""
    return '"' + name.replace('"', '""') + '"'


def columns_of(connection: psycopg.Connection, table: str) -> dict[str, Column]:
    """Return the columns of a table by name, in the table's order."""
    found = connection.execute(f"SELECT * FROM {table} LIMIT 0".encode()).description or []
    types = connection.adapters.types
    columns = {}
    for each in found:
        info = types.get(each.type_code)
        name = info.name if info and each.type_code == info.oid else ""
        columns[each.name] = Column(each.name, name, KINDS.get(name, ""))
    return columns


def declared_columns(
    columns: Mapping[str, Column], folder: str, names: Collection[str]
) -> list[Column]:
    """Return the named columns. Raises Conflict if one is missing or cannot be read."""
    for name in names:
        if name not in columns or not columns[name].kind:
            raise Conflict(
                "The table {table!r} has no column {name!r} of a type that can be read; make a "
                "view that casts it.",
                table=folder,
                name=name,
            )
    return [columns[name] for name in dict.fromkeys(names)]


def growing_column(columns: Mapping[str, Column], name: str) -> Column:
    """Return the column that tells which rows are new. Raises Conflict."""
    column = columns.get(name)
    if column is None or column.kind not in GROWING:
        raise does_not_grow(name)
    return column


def does_not_grow(name: str) -> Conflict:
    """Return the error for a column that was declared as growing and cannot be used as such."""
    return Conflict(
        "The column {name!r} cannot say which rows are new: it must exist, and hold whole numbers, "
        "dates or times.",
        name=name,
    )


def arrow_type(column: Column) -> Any:
    """Return the Arrow type in which this process holds a column's values.

    Floats keep their precision, on which it depends which of them may name a person.
    """
    import pyarrow as pa

    types = {
        WHOLE: pa.int64(),
        FLOAT: pa.float32() if column.type_name == "float4" else pa.float64(),
        DATE: pa.timestamp("s"),
        LOCAL: pa.timestamp("s"),
        MOMENT: pa.timestamp("s", "UTC"),
        BOOLEAN: pa.bool_(),
        BYTES: pa.binary(),
    }
    return types.get(column.kind, pa.string())
