"""Tables and views of PostgreSQL that may be registered, and how they are read.

The setting DPGEO_SOURCES names a database for an organisation, as in
`city-transport/warehouse=postgresql://reader@db.example/trips`. The password is in that setting, in
PGPASSWORD or in a password file; the database of this site holds the setting's name alone. Other
machines are connected to by TLS with a verified certificate (`sslmode=verify-full`) unless the
setting says otherwise.

Every reading is one transaction, read-only and REPEATABLE READ, so all its queries see the same
rows. It begins by computing, in the database, the number of rows and a checksum of them, and ends
with a Conflict if they are not those of the snapshot. If a column that only grows is declared, the
snapshot has the rows up to its greatest value then, so later rows do not matter.

Every expression by which rows are read is total: infinite times become nulls, and large numbers
texts. An error of the database therefore does not come from the values of a table, though a view's
own expressions may fail. Errors are passed on as their code, never in the database's words, which
may quote values. Nothing secret stands in a query: no key, no salt, no hash of a person.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
from psycopg.conninfo import conninfo_to_dict

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.datasets.sources import Location, SourceFile
from dpgeo.datasets.storage import work_folder
from dpgeo.engine.pushed_view import Counts
from dpgeo.engine.source_sql import POSTGRESQL, counting_query, edges_of
from dpgeo.ingest.batch import PREVIEW_ROWS, Batch, Sieve
from dpgeo.ingest.crs import IN_DEGREES
from dpgeo.ingest.report import MAX_FIELD_BYTES, Tally
from dpgeo.ingest.schema import Schema
from dpgeo.spatial.grid import Grid

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

LOCAL_HOSTS = ("", "localhost", "127.0.0.1", "::1")

REMOTE = ("host", "hostaddr")
"""Settings of libpq that name machines; the environment has them in capitals, after PG."""

ROWS = 32_768
"""Number of rows that are fetched at a time."""

MOST_SECONDS = 6 * 3600
"""Longest time that the database may work on one query of a job."""

PREVIEW_SECONDS = 20
"""Longest time that the database may work on one query while somebody waits for a page."""

LONGEST_NAME = 63
"""Length in bytes of PostgreSQL's names."""

SESSION = {
    "client_encoding": "UTF8",
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "cursor_tuple_fraction": "1.0",
    "idle_in_transaction_session_timeout": f"{MOST_SECONDS}s",
}
"""Settings of a session: texts of values must be the same each time, since a checksum uses them."""

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
"""Kinds of values by the names of PostgreSQL's types."""

TOTAL = {
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
"""SQL that reads a column of a kind, and fails for no value."""

DEGREES = {
    WHOLE: "{0}::float8",
    FLOAT: "{0}::float8",
    DECIMAL: (
        "CASE WHEN abs({0}) < 1e-300 THEN 0::float8 WHEN abs({0}) <= 360 THEN {0}::float8 END"
    ),
}
"""SQL that reads a column of degrees as float64, with null or NaN for what is no number.

Decimal numbers that are too small for float64 would end the query with an error, so they are 0.
"""

TRIMMED = "btrim({0}::text COLLATE \"C\", E' \\t\\n\\r\\v\\f')"

SHORT = f"octet_length({{0}}::text) <= {MAX_FIELD_BYTES}"
"""SQL that says whether a text is short enough; no other function is safe with the longest ones."""

PERSONS = {
    WHOLE: "{0}::bigint",
    UUID: '{0}::text COLLATE "C"',
    TEXT: (
        f"CASE WHEN {SHORT} THEN "
        f"regexp_replace(normalize({TRIMMED}, NFC), '^(-?[0-9]{{{{1,15}}}})\\.0+$', '\\1') END"
    ),
}
"""SQL for the identifier by which persons are grouped: the text that `ingest.persons` hashes."""

GROWING = (WHOLE, DATE, LOCAL, MOMENT)
"""Kinds of a column that may be declared to only grow."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its quoted name, its type's name and its kind ("" if not supported)."""

    quoted: str
    type_name: str
    kind: str


@dataclass(frozen=True, slots=True)
class TableLocation(Location):
    """A database that the setting names for an organisation; `root` is its address."""

    root: str = field(repr=False)

    def called(self, folder: str) -> str:
        """Return the name by which pages call the table."""
        return f"{self.name}/{folder}"

    def files(self, folder: str) -> list[SourceFile]:
        """Return one entry, which stands for the table or view named `folder`.

        Raises InvalidInput if it cannot be read, or Conflict if the database does not answer.
        """
        name = quoted_table(folder)
        with self._reading(folder, PREVIEW_SECONDS) as connection:
            if self._encoding(connection) != "UTF8":
                raise InvalidInput("The database's encoding must be UTF8.", field="folder")
            if not _columns(connection, name):
                raise InvalidInput("The table has no columns.", field="folder")
        return [SourceFile(path=folder, size=0, stamp="")]

    @contextmanager
    def opened(self, folder: str, file: SourceFile) -> Iterator[Path]:
        """Yield the path of a temporary Parquet file with the table's first rows."""
        import pyarrow.parquet as pq

        with work_folder() as scratch:
            path = scratch / "head.parquet"
            with self._reading(folder, PREVIEW_SECONDS) as connection:
                columns = _columns(connection, quoted_table(folder))
                known = {name: each for name, each in columns.items() if each.kind}
                query = f"{_select(known.values(), folder)} LIMIT {PREVIEW_ROWS}"
                head = next(_tables(connection, query, (), known), None)
            if head is None:
                raise InvalidInput("The table has no rows.", field="folder")
            pq.write_table(head, path)
            yield path

    def recorded(self, folder: str, file: SourceFile, as_of: str, schema: Schema) -> SourceFile:
        """Return the facts of the table now: what tells its rows from others.

        `as_of` names a column that only grows, or is "". Raises Conflict if it cannot be used.
        """
        if file.footer:
            return file
        with self._reading(folder) as connection:
            columns = _columns(connection, quoted_table(folder))
            stamp = ""
            if as_of:
                column = columns.get(as_of)
                if column is None or column.kind not in GROWING:
                    raise does_not_grow(as_of)
                query = f"SELECT max({column.quoted})::text FROM {quoted_table(folder)}"
                (greatest,) = connection.execute(query.encode()).fetchone() or (None,)
                stamp = json.dumps([as_of, greatest])
            stamped = replace(file, stamp=stamp)
            number, checksum = _checksum(connection, folder, stamped, columns, schema)
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
        """Yield the canonical rows of the snapshot. Raises Conflict if it has other rows now."""
        from dpgeo.ingest.source_rows import rows_of_batches

        with self._reading(folder) as connection:
            columns = self._checked(connection, folder, file, schema)
            wanted = {name: columns[name] for name in schema.wanted.values()}
            where, parameters = _until(file, columns)
            query = f"{_select(wanted.values(), folder)} WHERE {where}"
            if schema.unit is Unit.RECORD:
                # Passes and shards of records go by their place, which must always be the same one.
                query += " ORDER BY " + ", ".join(str(place + 1) for place in range(len(wanted)))
            tables = _tables(connection, query, parameters, wanted)
            yield from rows_of_batches(
                _batches(tables, schema, tally, file.size),
                schema,
                key,
                tally,
                erased=erased,
                people=people,
                between=between,
            )

    def _checked(
        self, connection: psycopg.Connection, folder: str, file: SourceFile, schema: Schema
    ) -> dict[str, Column]:
        """Return the table's columns. Raises Conflict if it has not the rows of the snapshot."""
        columns = _columns(connection, quoted_table(folder))
        if _checksum(connection, folder, file, columns, schema) != (file.size, file.footer):
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
    def _reading(self, folder: str, seconds: int = MOST_SECONDS) -> Iterator[psycopg.Connection]:
        """Open a transaction that only reads, each of whose queries may take some `seconds`.

        The database's errors become Conflicts by code.
        """
        try:
            with connected(self.root, seconds) as connection:
                yield connection
        except psycopg.Error as error:
            code = error.sqlstate or type(error).__name__
            logger.error("registered table: %s", code)
            raise Conflict(
                "The table {table!r} could not be read; the database's code is {code}.",
                table=folder,
                code=code,
            ) from None


@dataclass(frozen=True, slots=True)
class TableCounter:
    """Counts the rows of a snapshot of a table in its database (`engine.pushed_view.Counter`)."""

    location: TableLocation
    folder: str
    file: SourceFile
    schema: Schema
    key: bytes = field(repr=False)
    erased: frozenset[bytes]
    between: tuple[int, int] | None

    def count(self, grid: Grid, *, counting: Counting, bound: int, draw: int) -> Iterator[Counts]:
        """Yield the bounded counts of the occupied cells. Raises Conflict as `rows` does."""
        with self.location._reading(self.folder) as connection:
            columns = self.location._checked(connection, self.folder, self.file, self.schema)
            rows, parameters = self._accepted(connection, columns)
            persons = columns[self.schema.columns.person] if self.schema.columns.person else None
            query = counting_query(
                POSTGRESQL,
                rows,
                grid,
                unit=self.schema.unit,
                counting=counting,
                bound=bound,
                draw=draw,
                text=persons is not None and persons.kind != WHOLE,
            )
            edges = edges_of(grid)
            given = [edges.longitudes.tolist(), edges.latitudes.tolist(), *parameters]
            # A cursor declared in the database would keep it from counting in parallel.
            found = connection.cursor(binary=True).execute(query.encode(), given)
            for some in iter(partial(found.fetchmany, ROWS), []):
                cells, amounts = zip(*some, strict=True)
                yield np.array(cells, dtype=np.int64), np.array(amounts, dtype=np.int64)

    def _accepted(
        self, connection: psycopg.Connection, columns: dict[str, Column]
    ) -> tuple[str, list[Any]]:
        """Return SQL for the rows that `canonical_rows` accepts, whose parameters begin with $3."""
        from dpgeo.ingest.times import EARLIEST, LATEST

        schema = self.schema
        until, parameters = _until(self.file, columns, first=3)
        longitude, latitude = (
            DEGREES[columns[name].kind].format(columns[name].quoted)
            for name in (schema.columns.longitude, schema.columns.latitude)
        )
        west, south, east, north = schema.area.bounds
        conditions = [
            until,
            f"{longitude} BETWEEN {west!r}::float8 AND {east!r}::float8",
            f"{latitude} BETWEEN {south!r}::float8 AND {north!r}::float8",
            f"{longitude} BETWEEN -180 AND 180 AND {latitude} BETWEEN -90 AND 90",
        ]
        if schema.columns.time:
            time = columns[schema.columns.time]
            seconds = TOTAL[time.kind].format(time.quoted)
            conditions.append(f"{seconds} BETWEEN {EARLIEST} AND {LATEST}")
            if self.between:
                first, after = self.between
                conditions.append(f"{seconds} >= {first} AND {seconds} < {after}")
        person = "0::bigint"
        if schema.unit is Unit.PERSON:
            column = columns[schema.columns.person]
            person = PERSONS[column.kind].format(column.quoted)
            conditions += _named(person, column)
            if self.erased:
                parameters.append(self._erased_here(connection, person, columns))
                kind = "bigint" if column.kind == WHOLE else "text"
                conditions.append(f"{person} <> ALL (${len(parameters) + 2}::{kind}[])")
        rows = (
            f"SELECT {person} AS person, {longitude} AS longitude, {latitude} AS latitude "
            f"FROM {quoted_table(self.folder)} WHERE {' AND '.join(conditions)}"
        )
        return rows, parameters

    def _erased_here(
        self, connection: psycopg.Connection, person: str, columns: dict[str, Column]
    ) -> list[Any]:
        """Return the identifiers of the erased persons whom the table has.

        The database has no key, so it gives its distinct identifiers, which are hashed here.
        """
        import pyarrow as pa

        from dpgeo.ingest.persons import erased_among, hash_persons

        column = columns[self.schema.columns.person]
        until, parameters = _until(self.file, columns)
        query = (
            f"SELECT DISTINCT {person} FROM {quoted_table(self.folder)} "
            f"WHERE {until} AND {person} IS NOT NULL"
        )
        found: list[Any] = []
        for some in _fetched(connection, query, parameters):
            names = [name for (name,) in some]
            sieve = Sieve(np.arange(len(names), dtype=np.int64), Tally())
            kind = pa.int64() if column.kind == WHOLE else pa.string()
            high, low = hash_persons(pa.array(names, kind), self.key, sieve)
            refused = erased_among(high, low, self.erased) & sieve.kept
            found += [names[index] for index in np.flatnonzero(refused)]
        return found


def table_counter(
    location: Location,
    folder: str,
    file: SourceFile,
    schema: Schema,
    key: bytes,
    erased: Collection[bytes],
    between: tuple[int, int] | None,
) -> TableCounter | None:
    """Return what counts a table at its source, or None if its rows have to be read here.

    That depends on the declaration, the study area, the window and the types of columns alone.
    """
    named = schema.columns
    plain = (
        isinstance(location, TableLocation)
        and named.longitude
        and named.latitude
        and not (named.position_format or named.clock or schema.closed)
        and named.crs in IN_DEGREES
        and schema.area.is_box
    )
    if not plain or not isinstance(location, TableLocation):
        return None
    with location._reading(folder) as connection:
        columns = _columns(connection, quoted_table(folder))
    times = (MOMENT,) if between else (MOMENT, LOCAL, DATE)
    allowed: list[tuple[str, Collection[str]]] = [
        (named.longitude, DEGREES),
        (named.latitude, DEGREES),
        (named.time, times),
        (named.person if schema.unit is Unit.PERSON else "", PERSONS),
    ]
    suits = all(
        not name or (name in columns and columns[name].kind in kinds) for name, kinds in allowed
    )
    if not suits or (between and not named.time):
        return None
    return TableCounter(location, folder, file, schema, key, frozenset(erased), between)


@contextmanager
def connected(address: str, seconds: int = MOST_SECONDS) -> Iterator[psycopg.Connection]:
    """Open a read-only transaction with the settings of `SESSION`, and a limit for each query."""
    given: dict[str, Any] = conninfo_to_dict(address)
    if not _is_local(given):
        given.setdefault("sslmode", "verify-full")
    given.setdefault("connect_timeout", 10)
    given.setdefault("application_name", "dpgeo")
    connection = psycopg.connect(**given, cursor_factory=psycopg.RawCursor)
    connection.server_cursor_factory = psycopg.RawServerCursor
    try:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        for name, value in {**SESSION, "statement_timeout": f"{seconds}s"}.items():
            connection.execute("SELECT set_config($1, $2, true)", [name, value])
        yield connection
        connection.commit()
    finally:
        connection.close()


def _is_local(given: Mapping[str, Any]) -> bool:
    """Return whether a connection leads to this machine alone, as libpq settles where it leads."""
    named = [given.get(name) or os.environ.get(f"PG{name.upper()}") for name in REMOTE]
    hosts = [host for each in named if each for host in str(each).split(",")]
    is_service = given.get("service") or os.environ.get("PGSERVICE")
    return not is_service and all(host in LOCAL_HOSTS or host.startswith("/") for host in hosts)


def does_not_grow(name: str) -> Conflict:
    """Return the refusal of a column that was named as one that only grows."""
    return Conflict(
        "The column {name!r} cannot say which rows are new: it must exist, and hold whole numbers, "
        "dates or times.",
        name=name,
    )


def quoted_table(name: str) -> str:
    """Return a table's name in SQL, with its schema, by default "public". Raises InvalidInput."""
    parts = name.split(".")
    schema, table = parts if len(parts) == 2 else ("public", *parts[:1])
    usable = all(
        part and part.isprintable() and len(part.encode()) <= LONGEST_NAME
        for part in (schema, table)
    )
    if len(parts) > 2 or not usable or schema.startswith("pg_") or schema == "information_schema":
        raise InvalidInput("Write a table's name, such as public.trips.", field="folder")
    return f"{_quoted(schema)}.{_quoted(table)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _columns(connection: psycopg.Connection, table: str) -> dict[str, Column]:
    """Return the columns of a table by name, in its order."""
    found = connection.execute(f"SELECT * FROM {table} LIMIT 0".encode()).description or []
    types = connection.adapters.types
    columns = {}
    for each in found:
        info = types.get(each.type_code)
        name = info.name if info and each.type_code == info.oid else ""
        columns[each.name] = Column(_quoted(each.name), name, KINDS.get(name, ""))
    return columns


def _select(columns: Collection[Column], folder: str) -> str:
    values = ", ".join(TOTAL[each.kind].format(each.quoted) for each in columns)
    return f"SELECT {values} FROM {quoted_table(folder)}"


def _until(file: SourceFile, columns: dict[str, Column], first: int = 1) -> tuple[str, list[Any]]:
    """Return SQL for the rows of a snapshot, and its parameters, numbered from `first`."""
    if not file.stamp:
        return "true", []
    name, greatest = json.loads(file.stamp)
    if name not in columns or greatest is None:
        return "false", []
    column = columns[name]
    return f"{column.quoted} <= ${first}::text::{column.type_name}", [greatest]


def _checksum(
    connection: psycopg.Connection,
    folder: str,
    file: SourceFile,
    columns: dict[str, Column],
    schema: Schema,
) -> tuple[int, str]:
    """Return the number of a snapshot's rows and a checksum of the declared columns, in any order.

    Raises Conflict for a column that is missing or has a type that is not supported.
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
    where, parameters = _until(file, columns)
    row = f"ROW({', '.join(_bounded(columns[name]) for name in names)})::text"
    digest = f"encode(sha256(convert_to({row}, 'UTF8')), 'hex')"
    query = f"""
        SELECT count(*), coalesce(sum(('x' || left(digest, 15))::bit(60)::bigint), 0)::text,
            coalesce(sum(('x' || substr(digest, 16, 15))::bit(60)::bigint), 0)::text
        FROM (SELECT {digest} AS digest FROM {quoted_table(folder)} WHERE {where} OFFSET 0) AS rows
        """
    number, one, two = connection.execute(query.encode(), parameters).fetchone() or (0, "", "")
    kinds = [columns[name].type_name for name in names]
    return number, json.dumps([names, kinds, one, two])


def _bounded(column: Column) -> str:
    """Return SQL for a column's values, of which only the beginning of long ones matters."""
    return (
        TOTAL[column.kind].format(column.quoted) if column.kind in (TEXT, BYTES) else column.quoted
    )


def _fetched(
    connection: psycopg.Connection, query: str, parameters: Sequence[Any]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query, `ROWS` at a time."""
    with connection.cursor("dpgeo_rows", binary=True) as cursor:
        cursor.execute(query.encode(), list(parameters))
        yield from iter(partial(cursor.fetchmany, ROWS), [])


def _tables(
    connection: psycopg.Connection,
    query: str,
    parameters: Sequence[Any],
    columns: dict[str, Column],
) -> Iterator[pa.Table]:
    """Yield the rows of a query as tables with the columns' names."""
    import pyarrow as pa

    types = [_arrow_type(each.kind) for each in columns.values()]
    for some in _fetched(connection, query, parameters):
        values = zip(*some, strict=True)
        arrays = [pa.array(each, kind) for each, kind in zip(values, types, strict=True)]
        yield pa.table(dict(zip(columns, arrays, strict=True)))


def _arrow_type(kind: str) -> Any:
    import pyarrow as pa

    types = {
        WHOLE: pa.int64(),
        FLOAT: pa.float64(),
        DATE: pa.timestamp("s"),
        LOCAL: pa.timestamp("s"),
        MOMENT: pa.timestamp("s", "UTC"),
        BOOLEAN: pa.bool_(),
        BYTES: pa.binary(),
    }
    return types.get(kind, pa.string())


def _batches(
    tables: Iterator[pa.Table], schema: Schema, tally: Tally, total: int
) -> Iterator[Batch]:
    """Yield tables as batches of the declared roles; count their rows as read."""
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


def _named(person: str, column: Column) -> list[str]:
    """Return SQL conditions for the identifiers that `hash_persons` accepts."""
    from dpgeo.ingest.persons import EXPONENT, MISSING

    if column.kind != TEXT:
        return [f"{column.quoted} IS NOT NULL"]
    missing = ", ".join("'" + word + "'" for word in MISSING)
    return [
        f"{person} IS NOT NULL",
        f"lower({person}) NOT IN ({missing})",
        f"CASE WHEN {SHORT.format(column.quoted)} "
        f"THEN {TRIMMED.format(column.quoted)} !~ '{EXPONENT}' END",
    ]
