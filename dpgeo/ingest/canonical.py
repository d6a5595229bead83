"""Canonical rows, and the one file to which they are written.

Privacy argument for all of `ingest`. Every function between an upload's row and its canonical row
uses that row, the declared schema, the dataset's secret key and the list of persons erased from the
dataset, and nothing else: types are declared, not inferred; no decision depends on the whole file;
and a row that cannot be used does not affect any other. Removing one person's rows from an upload
therefore removes exactly that person's rows from the canonical file (the order of the others may
change, see `canonical_writer`). The contribution bound, and with it every later guarantee, depends
on this property. In a hand-over table, a row is also refused if the same person has an earlier one
with the same region and slice, which only that person's rows decide (`canonical_writer`): without
these rows, the others are written as before. The list of erased persons is the same with and
without that person's rows. (`tests/unit/ingest/test_person_local.py` tests this, byte for byte.)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgeo.core.guarantees import Unit
from dpgeo.ingest.attributes import number_attributes
from dpgeo.ingest.batch import Batch, Sieve
from dpgeo.ingest.canonical_writer import CanonicalWriter
from dpgeo.ingest.categories import category_codes, category_field
from dpgeo.ingest.coordinates import (
    EASTING,
    LATITUDE,
    LONGITUDE,
    NORTHING,
    PointsAs,
    numbers,
    points,
    project,
)
from dpgeo.ingest.crs import Pair, has_limits
from dpgeo.ingest.declared_formats import PAIRS, split_time_formats
from dpgeo.ingest.destinations import DESTINATION_FIELDS, destinations
from dpgeo.ingest.measures import measure_field, measure_steps
from dpgeo.ingest.persons import Known, erased_among, hash_names, read_persons
from dpgeo.ingest.place_keys import PLACE_FIELD, place_numbers
from dpgeo.ingest.regions import region_points
from dpgeo.ingest.report import Reason, Tally
from dpgeo.ingest.schema import Role, Schema
from dpgeo.ingest.times import seconds, with_clock
from dpgeo.spatial.projection import to_mercator

CANONICAL = pa.schema(
    [
        pa.field("person_high", pa.uint64(), nullable=False),
        pa.field("person_low", pa.uint64(), nullable=False),
        pa.field("x", pa.float64(), nullable=False),
        pa.field("y", pa.float64(), nullable=False),
        pa.field("time", pa.int64()),
        pa.field("attributes", pa.int32()),
    ]
)
"""The columns of every canonical file.

Person: the two halves of a 128-bit keyed hash, 0 in datasets that protect records. Position: Web
Mercator metres. Time: seconds since 1970 in UTC, null if no time column is declared. Attributes:
the number of the public attributes' combination of values (`core.attributes`), null if no attribute
is declared. `canonical_schema` adds columns for each declared measure and category, and for a
declared destination and a declared key of places.
"""

UNIQUE = {"x", "y", "time", "destination_x", "destination_y"}
"""Columns whose values seldom repeat, so that a dictionary of them would only take time."""


def canonical_schema(
    measures: int = 0, categories: int = 0, *, destination: bool = False, place: bool = False
) -> pa.Schema:
    """Return the schema of the canonical file of a dataset.

    `measures` and `categories` are the numbers of declared measures and categories. After the
    columns of `CANONICAL` comes one column with the steps of each measure (`core.measures`), null
    for a row without a number, and one with the code of each category (`core.categories`). If
    `destination` is true, two more columns hold the position where the row's trip ends, in Web
    Mercator metres, null for a row that does not begin a trip. If `place` is true, the last column
    holds the numbers that stand for keys of places (`spatial.place_keys`), null for a row without a
    key.
    """
    added = [*map(measure_field, range(measures)), *map(category_field, range(categories))]
    ends = DESTINATION_FIELDS if destination else ()
    return pa.schema([*CANONICAL, *added, *ends, *([PLACE_FIELD] if place else [])])


def declared_schema(schema: Schema) -> pa.Schema:
    """Return the schema of the canonical rows that a declaration yields."""
    return canonical_schema(
        len(schema.measures),
        len(schema.categories),
        destination=schema.has_destination,
        place=bool(schema.columns.place),
    )


def columns_once(schema: Schema) -> tuple[str, ...]:
    """Return the columns in which no two rows of a hand-over table may be equal; else ()."""
    if schema.regions is None:
        return ()
    slices = [category_field(number).name for number in range(len(schema.categories))]
    return ("person_high", "person_low", "x", "y", "time", *slices)


@dataclass(frozen=True, slots=True, eq=False)
class NamedRows:
    """The accepted rows of a batch before the persons' names are hashed.

    `numbers` int64 (n,) are row numbers. `persons` are the names, an Arrow dictionary (n,) of the
    names that occur, or None in datasets that protect records. `columns` are those of
    `canonical_schema` after the person's.
    """

    numbers: NDArray[np.int64]
    persons: Any
    columns: list[Any]


def canonical_rows(
    batch: Batch,
    schema: Schema,
    key: bytes,
    tally: Tally,
    erased: Collection[bytes] = (),
    known: Known | None = None,
) -> pa.RecordBatch:
    """Return the accepted rows of a batch in `canonical_schema`; count the refused ones in `tally`.

    The arguments are those of `named_rows` and `hashed_rows`, one after the other.
    """
    rows = named_rows(batch, schema, tally)
    return hashed_rows(rows, schema, key, tally, erased, {} if known is None else known)


def hashed_rows(
    rows: NamedRows,
    schema: Schema,
    key: bytes,
    tally: Tally,
    erased: Collection[bytes],
    known: Known,
) -> pa.RecordBatch:
    """Return rows in `canonical_schema`, with the hashes of the persons in place of their names.

    Rows of persons with hashes in `erased` are refused, which is counted in `tally`. A row's result
    does not depend on the other entries of that list, or on the other rows. `known` keeps hashes of
    persons between batches of one file (`persons`).
    """
    fields = declared_schema(schema)
    if rows.persons is None:
        nobody = pa.array(np.zeros(len(rows.numbers), dtype=np.uint64))
        return pa.RecordBatch.from_arrays([nobody, nobody, *rows.columns], schema=fields)
    halves = hash_names(rows.persons.dictionary, key, known)
    codes = rows.persons.indices.to_numpy()
    gone = erased_among(halves[:, 0], halves[:, 1], erased)
    hashes = [pa.array(half) for half in halves[codes].T.copy()]
    hashed = pa.RecordBatch.from_arrays([*hashes, *rows.columns], schema=fields)
    if not gone.any():
        return hashed
    sieve = Sieve(rows.numbers, tally)
    sieve.refuse(gone[codes], Reason.PERSON_ERASED)
    return hashed.filter(pa.array(sieve.kept))


def named_rows(
    batch: Batch,
    schema: Schema,
    tally: Tally,
    see: Callable[[NDArray[np.float64], NDArray[np.float64]], None] = lambda x, y: None,
) -> NamedRows:
    """Return the accepted rows of a batch; count the refused ones in `tally`.

    `see` is called with the longitudes and latitudes of all readable positions, inside the study
    area and outside.
    """
    sieve = Sieve(batch.rows, tally)
    size = len(batch.rows)
    persons = None
    if schema.unit is Unit.PERSON:
        persons = read_persons(batch.fields[Role.PERSON], sieve)
    longitude, latitude = _degrees(batch, schema, sieve)
    see(longitude[sieve.kept], latitude[sieve.kept])
    outside = np.zeros(size, dtype=bool)
    outside[sieve.kept] = ~schema.area.covers(longitude[sieve.kept], latitude[sieve.kept])
    sieve.refuse(outside, Reason.OUTSIDE_AREA, _Positions(longitude, latitude))
    time = None
    if Role.TIME in batch.fields:
        formats = split_time_formats(schema.columns.time_format)
        written = batch.fields[Role.TIME]
        if Role.CLOCK in batch.fields:
            written = with_clock(written, batch.fields[Role.CLOCK])
        time = seconds(written, schema.time_zone, sieve, formats)
        for first, after in schema.closed:
            sieve.refuse((time >= first) & (time < after), Reason.PERIOD_CLOSED, written)
    kept = sieve.kept
    x, y = to_mercator(longitude[kept], latitude[kept])
    times = pa.nulls(len(x), pa.int64()) if time is None else pa.array(time[kept])
    attributes = pa.nulls(len(x), pa.int32())
    if schema.attributes:
        attributes = pa.array(number_attributes(batch, schema.attributes)[kept])
    accepted = pa.array(kept)
    measures = [steps.filter(accepted) for steps in measure_steps(batch, schema)]
    categories = [codes.filter(accepted) for codes in category_codes(batch, schema)]
    ends = destinations(batch, schema, kept) if schema.has_destination else []
    places = [place_numbers(batch).filter(accepted)] if schema.columns.place else []
    columns = [pa.array(x), pa.array(y), times, attributes, *measures, *categories, *ends, *places]
    persons = None if persons is None else _occurring(persons.filter(accepted))
    return NamedRows(batch.rows[kept], persons, columns)


def _occurring(persons: Any) -> Any:
    """Return a dictionary array without the names that no row has: those of refused rows."""
    codes = persons.indices.to_numpy()
    occurs = np.zeros(len(persons.dictionary), dtype=bool)
    occurs[codes] = True
    if occurs.all():
        return persons
    places = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    names = persons.dictionary.filter(pa.array(occurs))
    return pa.DictionaryArray.from_arrays(pa.array(places[codes]), names)


def _degrees(batch: Batch, schema: Schema, sieve: Sieve) -> Pair:
    """Return longitudes and latitudes, float64 (n,); the values of refused rows have no meaning."""
    if schema.regions is not None:
        return region_points(batch.fields[Role.REGION], schema.regions, sieve)
    crs, form = schema.columns.crs, schema.columns.position_format
    x_axis, y_axis = (LONGITUDE, LATITUDE) if has_limits(crs) else (EASTING, NORTHING)
    if Role.GEOMETRY in batch.fields:
        declared = PointsAs(x_axis, y_axis, crs, form)
        pair = points(batch.fields[Role.GEOMETRY], declared, sieve)
    else:
        # GeoJSON points are numbers already, so a format for pairs written as text does not apply.
        form = "" if form in PAIRS else form
        y = numbers(batch.fields[Role.LATITUDE], y_axis, sieve, form)
        pair = numbers(batch.fields[Role.LONGITUDE], x_axis, sieve, form), y
    return project(pair, crs, schema.area.bounds, sieve)


class _Positions:
    """Positions that become text only if they are shown as examples of refused rows."""

    def __init__(self, longitude: np.ndarray, latitude: np.ndarray) -> None:
        self._longitude, self._latitude = longitude, latitude

    def __getitem__(self, index: int) -> str:
        return f"longitude {self._longitude[index]:.7g}, latitude {self._latitude[index]:.7g}"


@contextmanager
def canonical_file(
    target: Path, schema: pa.Schema, once: Sequence[str] = ()
) -> Iterator[CanonicalWriter]:
    """Open a writer for `target`; the file appears there only if the block succeeds.

    `schema` is that of `canonical_schema`. Of rows that are equal in all the columns `once`, only
    the first is written.

    Several writers with the same target do not interfere, since each has its own temporary file
    beside it.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        coded = [name for name in schema.names if name not in UNIQUE]
        with pq.ParquetWriter(
            temporary, schema, compression="zstd", use_dictionary=coded
        ) as writer:
            canonical = CanonicalWriter(writer, schema, target.parent, once)
            try:
                yield canonical
                canonical.flush()
            finally:
                canonical.close()
        _sync(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Flush the file to disk before it gets its final name."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
