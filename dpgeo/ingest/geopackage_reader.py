"""GeoPackage reader for the file's one layer of points, using SQLite itself.

A row is what SQLite stores under one row id, and each value has its stored type (`typed_values`
explains why GDAL is not used). A value beyond `MAX_VALUE_BYTES` refuses its row alone.

The file is an untrusted database. It is therefore opened read-only and without its journal, and its
schema is not trusted. An authorizer lets queries read only the layer and the three catalogue
tables, provided that they are real tables. No view, virtual table, trigger, attached file or
function is used, even where the schema would introduce one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.batch import PREVIEW_ROWS, Batch, Head, Reader, Sieve, as_text
from dpgeo.ingest.crs import WGS84, check_stated
from dpgeo.ingest.header import check_names, positions, quoted
from dpgeo.ingest.report import MAX_FIELD_BYTES, Reason, Tally, shorten
from dpgeo.ingest.schema import Role, Wanted
from dpgeo.ingest.typed_values import Refusals, Unusable, texts
from dpgeo.phrases import Phrase

BATCH_ROWS = 20_000
MAX_VALUE_BYTES = 1 << 20
MAX_LAYERS = 1_000
DAMAGED = (
    "The GeoPackage is damaged, cut short or not a plain GeoPackage; export the layer of "
    "points again, into a new file."
)
CATALOGUE = ("sqlite_master", "gpkg_geometry_columns", "gpkg_spatial_ref_sys")
ENVELOPE_BYTES = {0: 0, 1: 32, 2: 48, 3: 48, 4: 64}
"""Header lengths by the envelope code in a geometry's flags (OGC 12-128, clause 2.1.3)."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The layer of points: table, columns, geometry column, and stated coordinate system."""

    table: str
    names: list[str]
    geometry: str
    crs: str


def read_geopackage(
    path: Path,
    wanted: Wanted,
    tally: Tally,
    *,
    crs: str = WGS84,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[Batch]:
    """Yield the layer's rows in batches, ordered by row id and numbered from 1.

    Raises InvalidInput if the file is damaged, does not have exactly one layer of points, lacks a
    declared column or is in another coordinate system than the declared one.
    """
    with opened(path) as connection, readable():
        layer = find_layer(connection)
        positions(wanted, layer.names)
        if Role.GEOMETRY in wanted:
            _check_geometry(layer, wanted[Role.GEOMETRY], crs)
        total = connection.execute(f"SELECT count(*) FROM {_name(layer.table)}").fetchone()[0]  # noqa: S608
        rows = read_rows(connection, layer, list(wanted.values()))
        done = 0
        while values := list(islice(rows, batch_rows)):
            numbers = np.arange(done, done + len(values), dtype=np.int64) + 1
            done += len(values)
            yield _batch(values, numbers, list(wanted), tally, done, total)


def read_head(path: Path) -> Head:
    """Return the first rows of the layer."""
    with opened(path) as connection, readable():
        layer = find_layer(connection)
        rows = [
            [_shown_geometry(cell) for cell in row or [""] * len(layer.names)]
            for row in islice(read_rows(connection, layer, layer.names), PREVIEW_ROWS)
        ]
    return Head(layer.names, rows, layer.geometry, layer.crs)


def _shown_geometry(value: object) -> str:
    """Return the text that a preview shows for a value of the geometry column."""
    if not isinstance(value, bytes) or not value.startswith(b"GP"):
        return shorten(value)
    try:
        return as_text(well_known_binary(value))
    except Unusable:
        return shorten(value)


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database read-only, with limits and without trusting its schema."""
    _check_size(path)
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        with readable():
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
                connection.execute(f"PRAGMA {pragma}")
        yield connection


def _check_size(path: Path) -> None:
    """Refuse a truncated file; SQLite would read the missing part as zeros."""
    with path.open("rb") as file:
        header = file.read(100)
        size = file.seek(0, 2)
    page = int.from_bytes(header[16:18], "big")
    page = 65_536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    if len(header) < 100 or page < 512 or size % page or size < page * pages:
        raise InvalidInput(DAMAGED, field="file")


@contextmanager
def readable() -> Iterator[None]:
    """Convert SQLite's errors for bad files to InvalidInput."""
    try:
        yield
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise InvalidInput(DAMAGED, field="file") from error


def find_layer(connection: sqlite3.Connection) -> Layer:
    """Return the only layer of points. Raises InvalidInput (field "file")."""
    connection.text_factory = lambda text: text.decode(errors="replace")
    connection.set_authorizer(_authorizer(CATALOGUE))
    tables = {
        name: sql
        for name, sql in connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type='table'"
        )
        if not str(sql).lstrip().upper().startswith("CREATE VIRTUAL")
    }
    if not {"gpkg_geometry_columns", "gpkg_spatial_ref_sys"} <= tables.keys():
        raise InvalidInput(
            "This is an SQLite database but no GeoPackage; export the layer as GeoPackage, "
            "GeoParquet or CSV.",
            field="file",
        )
    table, geometry, system = _only_points(connection)
    if table not in tables:
        raise InvalidInput(
            "The layer {layer} is a view or refers to something that is not in the file; export "
            "it into a new GeoPackage.",
            layer=quoted([table]),
            field="file",
        )
    connection.set_authorizer(_authorizer((*CATALOGUE, table)))
    listed = connection.execute(f"PRAGMA table_info({_name(table)})").fetchall()
    names = [str(row[1]) for row in listed]
    check_names(names)
    return Layer(table, names, geometry, _system(connection, system))


def _only_points(connection: sqlite3.Connection) -> tuple[str, str, Any]:
    """Return table, geometry column and coordinate system of the layer declared to hold points."""
    layers = connection.execute(
        "SELECT table_name, column_name, upper(geometry_type_name), srs_id "
        "FROM gpkg_geometry_columns LIMIT ?",
        (MAX_LAYERS,),
    ).fetchall()
    of_points = [layer for layer in layers if layer[2] == "POINT"]
    candidates = of_points or [layer for layer in layers if layer[2] == "GEOMETRY"]
    if len(candidates) != 1:
        raise InvalidInput(
            "The GeoPackage has several layers of points ({names}); export the one to be "
            "uploaded into a file of its own."
            if candidates
            else "The GeoPackage has no layer of points; export one.",
            names=quoted([str(layer[0]) for layer in candidates[:10]]),
            field="file",
        )
    return str(candidates[0][0]), str(candidates[0][1]), candidates[0][3]


def _system(connection: sqlite3.Connection, number: Any) -> str:
    """Return the code of the coordinate system with this `number` in the file; "" if undefined."""
    if number in (-1, 0):
        return ""
    row = connection.execute(
        "SELECT organization, organization_coordsys_id FROM gpkg_spatial_ref_sys WHERE srs_id = ?",
        (number,),
    ).fetchone()
    return f"{row[0]}:{row[1]}" if row else "a system that is not described"


def _authorizer(tables: Sequence[str]) -> Any:
    """Return a callback for SQLite that lets queries read only the given tables."""
    may_read = {table.lower() for table in tables}

    def authorize(action: int, first: Any, second: Any, _: Any, source: Any) -> int:
        allowed = (
            action == sqlite3.SQLITE_SELECT
            or (action == sqlite3.SQLITE_READ and not source and str(first).lower() in may_read)
            or (action == sqlite3.SQLITE_FUNCTION and second in {"count", "upper"})
            or (action == sqlite3.SQLITE_PRAGMA and first == "table_info")
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return authorize


def read_rows(
    connection: sqlite3.Connection, layer: Layer, names: Sequence[str]
) -> Iterator[tuple[Any, ...] | None]:
    """Yield the columns `names` of each row, text as bytes, or None for a row that is too large."""
    connection.text_factory = bytes
    row_id = _row_id(layer.names)
    table, columns = _name(layer.table), ", ".join(map(_name, names))
    after = f"FROM {table} WHERE {row_id} > ? ORDER BY {row_id}"
    query = f"SELECT {row_id}, {columns} {after}"
    last = -(2**63) + 1
    while True:
        try:
            for row in connection.execute(query, (last,)):
                last = row[0]
                yield row[1:]
            return
        except sqlite3.DataError:
            # A row is too large, but SQLite may have stopped one row early: the next row may be
            # valid, so it is tried separately.
            row = _one_row(connection, f"{query} LIMIT 1", last)
            if row is None:
                row = connection.execute(f"SELECT {row_id} {after} LIMIT 1", (last,)).fetchone()
            last = row[0]
            yield row[1:] or None


def _one_row(connection: sqlite3.Connection, query: str, last: int) -> tuple[Any, ...] | None:
    try:
        row: tuple[Any, ...] = connection.execute(query, (last,)).fetchone()
    except sqlite3.DataError:
        return None
    return row


def _row_id(names: Sequence[str]) -> str:
    """Return one of SQLite's names for the row id that no column has, or "" if all are taken."""
    taken = {name.lower() for name in names}
    return next(name for name in ("rowid", "oid", "_rowid_", "") if name not in taken)


def _name(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _check_geometry(layer: Layer, name: str, declared: str) -> None:
    if name != layer.geometry:
        raise InvalidInput(
            "The geometry of this layer is in the column {geometry!r}, not {name!r}.",
            geometry=layer.geometry,
            name=name,
            field="columns.geometry",
        )
    check_stated(layer.crs, declared, Phrase("The layer {name}", name=quoted([layer.table])))


def _batch(
    rows: Sequence[tuple[Any, ...] | None],
    numbers: np.ndarray[Any, np.dtype[np.int64]],
    roles: Sequence[str],
    tally: Tally,
    done: int,
    total: int,
) -> Batch:
    tally.read += len(rows)
    sieve = Sieve(numbers, tally)
    sieve.refuse(np.array([row is None for row in rows]), Reason.FIELD_TOO_LONG)
    fields: dict[str, Any] = {}
    for index, role in enumerate(roles):
        values = [None if row is None else row[index] for row in rows]
        read = _geometries if role is Role.GEOMETRY else texts
        fields[role] = read(values, role, sieve)
    mask = pa.array(sieve.kept)
    fields = {role: values.filter(mask) for role, values in fields.items()}
    return Batch(numbers[sieve.kept], fields, done, total)


def _geometries(values: Sequence[object], _: str, sieve: Sieve) -> Any:
    """Return the well-known binary of GeoPackage geometries, with null for missing ones."""
    binaries: list[bytes | None] = []
    refused = Refusals()
    for index, value in enumerate(values):
        try:
            binaries.append(None if value is None else well_known_binary(value))
        except Unusable as unusable:
            binaries.append(None)
            refused.add(unusable.reason, index)
    refused.tell(sieve, values)
    return pa.array(binaries, pa.binary())


def well_known_binary(value: object) -> bytes:
    """Return a geometry's well-known binary, without the header that GeoPackage adds.

    The result is cut just beyond MAX_FIELD_BYTES, so that a longer one is still refused as too
    long. Raises Unusable for a missing or unreadable geometry.
    """
    if not isinstance(value, bytes) or len(value) < 8 or value[:2] != b"GP":
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    flags = value[3]
    envelope = ENVELOPE_BYTES.get(flags >> 1 & 7)
    if envelope is None or flags >> 5 & 1:
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    if flags >> 4 & 1:
        raise Unusable(Reason.GEOMETRY_MISSING)
    start = 8 + envelope
    return value[start : start + MAX_FIELD_BYTES + 1]


READER = Reader(read_geopackage, read_head)
