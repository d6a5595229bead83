"""Counts of the rows of a registered table, made in the table's own database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import psycopg

from dpgeo.core.categories import Category
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.datasets.postgresql.columns import (
    CODED,
    DATE,
    DEGREES,
    LOCAL,
    MOMENT,
    PERSONS,
    VALUES,
    WHOLE,
    Column,
    accepted_names,
    arrow_type,
    step_of,
)
from dpgeo.datasets.postgresql.location import TableLocation
from dpgeo.datasets.postgresql.rows import (
    ROWS,
    Query,
    batches_of,
    columns_of,
    fetched,
    snapshot_condition,
    tables_of,
    value_of,
)
from dpgeo.datasets.postgresql.session import quoted_table
from dpgeo.datasets.sources import Location, SourceFile
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.pushed_view import Asked
from dpgeo.engine.source_sql import (
    CONTENT,
    POSTGRESQL,
    Sample,
    Wanted,
    answer_query,
    cells_query,
    edges_of,
    rank_query,
    reports_query,
    sliced_query,
)
from dpgeo.engine.source_zones import Ground
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.crs import IN_DEGREES
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Schema
from dpgeo.privacy.bounding import Listed, ValuedRegions
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

if TYPE_CHECKING:
    import pyarrow as pa

MOST_POSITIONS = 20_000_000
"""Largest number of positions near borders whose regions this process finds for one query.

They and their regions are parameters of the query, and PostgreSQL allows parameters of up to a
gibibyte.
"""


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
    columns: Mapping[str, Column]

    def can_answer(self, asked: Asked) -> bool:
        """Return whether the database can determine the regions, slices and values of rows.

        For slices of time, times must be of a type that stands for moments: where clocks change,
        the database may take a local time for another moment than this process does. The database
        cannot determine places that rows name by a key, nor zones whose outlines are too long to be
        stored as a raster (`engine.source_zones`).
        """
        regions, slices = _divided(asked.regions)
        if slices and slices.times and self._kind(self.schema.columns.time) != MOMENT:
            return False
        if slices and slices.category and self._kind(slices.category.column) not in CODED:
            return False
        if asked.measure and self._kind(asked.measure.column) not in VALUES:
            return False
        if isinstance(regions, Grid):
            return True
        return Ground.of(regions) is not None

    def _kind(self, name: str) -> str:
        return self.columns[name].kind if name in self.columns else ""

    def answer(self, asked: Asked) -> Iterator[Answer]:
        """Yield the result of a measurement in blocks, each a mapping from column to array.

        Raises Conflict if the table has changed.
        """
        regions, slices = _divided(asked.regions)
        grid = regions if isinstance(regions, Grid) else None
        also = [*(["slice"] if slices else []), *(["step"] if asked.measure else [])]
        query = Query()
        with self._reading(slices) as connection:
            added = {}
            if slices:
                added["slice"] = self._slice(connection, query, slices)
            if asked.measure:
                added["step"] = step_of(self.columns[asked.measure.column], asked.measure)
            sample = self._sample(asked.counting, asked.bound, asked.draw)
            record = "0::bigint"
            if self.schema.unit is Unit.RECORD and isinstance(regions, Zones):
                sample = replace(sample, several=True)
                added |= self._content()
                also += CONTENT
                record = "row_number() OVER ()"
            rows = self._accepted(connection, query, added, record)
            if grid is None:
                celled = self._zoned(connection, query, rows, also, cast(Listed, regions))
            else:
                edges = edges_of(grid)
                celled = cells_query(
                    POSTGRESQL,
                    rows,
                    grid,
                    also=also,
                    eastings=query.give_list(edges.longitudes),
                    northings=query.give_list(edges.latitudes),
                )
            if asked.popularity:
                table = asked.popularity.table(asked.regions)
                ranks = query.give_list(table.ranks)
                sample = replace(sample, rank=rank_query(POSTGRESQL, table, grid, ranks))
            text = answer_query(POSTGRESQL, celled, asked.wanted, sample, **asked.limits)
            # Use a client-side cursor: for a server-side one, PostgreSQL counts without parallel
            # workers.
            found = connection.cursor(binary=True).execute(text.encode(), query.values)
            names = [column.name for column in found.description or ()]
            # Pairs of a person and a region are fetched as a single block, because the caller
            # numbers the persons of each block anew.
            most = max(found.rowcount, 1) if asked.wanted is Wanted.PAIRS else ROWS
            for some in iter(partial(found.fetchmany, most), []):
                numbers = np.array(some, dtype=np.int64)
                yield dict(zip(names, numbers.T, strict=True))

    def reports(self, bound: int, draw: int) -> Iterator[pa.RecordBatch] | None:
        """Return an iterator over canonical rows: at most `bound` of each person, to be perturbed.

        They come in batches, whatever their positions. Returns None if records are the privacy
        unit.
        """
        return self._reports(bound, draw) if self.schema.unit is Unit.PERSON else None

    def _reports(self, bound: int, draw: int) -> Iterator[pa.RecordBatch]:
        from dpgeo.ingest.source_rows import rows_of_batches

        wanted = {name: self.columns[name] for name in self.schema.wanted.values()}
        names = [f"value_{number}" for number in range(len(wanted))]
        values = dict(zip(names, map(value_of, wanted.values()), strict=True))
        time = self.schema.columns.time
        added = values | {"seconds": value_of(self.columns[time]) if time else "NULL::bigint"}
        query = Query()
        with self._reading() as connection:
            rows = self._accepted(connection, query, added)
            text = reports_query(
                POSTGRESQL, rows, names, bound=bound, draw=draw, text=self._is_text
            )
            tables = tables_of(connection, text, query.values, wanted)
            tally = Tally()
            batches = batches_of(tables, self.schema, tally, self.file.size)
            yield from rows_of_batches(batches, self.schema, self.key, tally)

    @contextmanager
    def _reading(self, slices: Slicing | None = None) -> Iterator[psycopg.Connection]:
        """Open a transaction that sees the rows of the snapshot."""
        with self.location.reading(self.folder) as connection:
            if slices and slices.times:
                # Check the time zone apart from the rows: an error about it must not show whether
                # there are rows.
                connection.execute(b"SELECT timezone($1, to_timestamp(0))", [slices.time_zone])
            self.location.checked(connection, self.folder, self.file, self.schema)
            yield connection

    def _content(self) -> dict[str, str]:
        """Return SQL for the columns of `CONTENT`, from which a record's hash is computed.

        The hash decides in which of several overlapping regions a record is counted.
        """
        named = self.schema.columns
        degrees = [self._degrees(name) for name in (named.longitude, named.latitude)]
        values = [
            f"CASE WHEN {each} BETWEEN -180 AND 180 THEN floor(1e7::float8 * ({each}))::bigint END"
            for each in degrees
        ]
        time = value_of(self.columns[named.time]) if named.time else "0::bigint"
        return dict(zip(CONTENT, [*values, f"coalesce({time}, 0)"], strict=True))

    def _degrees(self, name: str) -> str:
        """Return SQL for a column of degrees as float64."""
        return DEGREES[self.columns[name].kind].format(self.columns[name].quoted)

    @property
    def _is_text(self) -> bool:
        return self._kind(self.schema.columns.person) != WHOLE

    def _sample(self, counting: Counting, bound: int, draw: int) -> Sample:
        return Sample(
            unit=self.schema.unit, counting=counting, bound=bound, draw=draw, text=self._is_text
        )

    def _zoned(
        self,
        connection: psycopg.Connection,
        query: Query,
        rows: str,
        also: Sequence[str],
        regions: Listed,
    ) -> str:
        """Return SQL for rows with their zones: columns person, cell (zone) and those in `also`."""
        ground = Ground.of(regions)
        if ground is None:
            raise ValueError("These regions have no raster.")
        located = self._on_ground(connection, query, rows, also, ground)
        return sliced_query(located, "region", len(regions), also=also)

    def _on_ground(
        self,
        connection: psycopg.Connection,
        query: Query,
        rows: str,
        also: Sequence[str],
        ground: Ground,
    ) -> str:
        """Return SQL for `rows` with their regions: one row for each region in which a row lies.

        The database finds most regions in a raster. For positions near the regions' borders, this
        process finds the regions, and passes them to the query.
        """
        before = Query(list(query.values))
        open_ = ground.open_query(rows, before.give_list, POSTGRESQL.fence)
        found, number = [np.zeros((0, 2))], 0
        for some in fetched(connection, open_, before.values):
            found.append(np.array(some, dtype=np.float64))
            number += len(some)
            if number > MOST_POSITIONS:
                raise Conflict(
                    "Too many positions of the table {table!r} lie beside borders of the regions; "
                    "choose regions with simpler outlines, or a grid.",
                    table=self.folder,
                )
        positions = np.concatenate(found)
        return ground.regions_query(
            rows,
            also,
            query.give_list,
            POSTGRESQL.fence,
            positions[:, 0].copy(),
            positions[:, 1].copy(),
        )

    def _accepted(
        self,
        connection: psycopg.Connection,
        query: Query,
        added: Mapping[str, str],
        record: str = "0::bigint",
    ) -> str:
        """Return SQL for the rows that `canonical_rows` accepts.

        Their columns are person, longitude, latitude and those in `added`, a mapping from names to
        SQL. If records are the privacy unit, the column person has the value of `record`, also SQL.
        """
        from dpgeo.ingest.times import EARLIEST, LATEST

        schema, columns = self.schema, self.columns
        longitude, latitude = map(
            self._degrees, (schema.columns.longitude, schema.columns.latitude)
        )
        west, south, east, north = schema.area.bounds
        conditions = [
            snapshot_condition(self.file, columns, query),
            f"{longitude} BETWEEN {west!r}::float8 AND {east!r}::float8",
            f"{latitude} BETWEEN {south!r}::float8 AND {north!r}::float8",
            f"{longitude} BETWEEN -180 AND 180 AND {latitude} BETWEEN -90 AND 90",
        ]
        if schema.columns.time:
            seconds = value_of(columns[schema.columns.time])
            conditions.append(f"{seconds} BETWEEN {EARLIEST} AND {LATEST}")
            if self.between:
                first, after = self.between
                conditions.append(f"{seconds} >= {first} AND {seconds} < {after}")
        person = record
        if schema.unit is Unit.PERSON:
            column = columns[schema.columns.person]
            person = PERSONS[column.kind].format(column.quoted)
            conditions += accepted_names(person, column)
            if self.erased:
                kind = "bigint[]" if column.kind == WHOLE else "text[]"
                erased = query.give(self._erased_here(connection, person), kind)
                conditions.append(f"{person} <> ALL ({erased})")
        more = "".join(f", {value} AS {name}" for name, value in added.items())
        rows = (
            f"SELECT {person} AS person, {longitude} AS longitude, {latitude} AS latitude{more} "
            f"FROM {quoted_table(self.folder)} WHERE {' AND '.join(conditions)}"
        )
        if schema.area.is_box:
            return rows
        ground = Ground.of_area(schema.area)
        if ground is None:
            raise ValueError("This study area has no raster.")
        return self._on_ground(connection, query, rows, list(added), ground)

    def _slice(self, connection: psycopg.Connection, query: Query, slices: Slicing) -> str:
        """Return SQL for the number of the slice that a row is in; null if it is in none."""
        from dpgeo.ingest.times import EARLIEST, LATEST

        number = "0::bigint"
        if slices.times:
            seconds = value_of(self.columns[self.schema.columns.time])
            hours = query.give(list(slices.times.of_hour), "bigint[]")
            # With times outside these limits, the conversion to some time zones would fail.
            known = f"CASE WHEN {seconds} BETWEEN {EARLIEST} AND {LATEST} THEN {seconds} END"
            zone = query.give(slices.time_zone, "text")
            local = f"timezone({zone}, to_timestamp(({known})::float8))"
            hour = f"24 * (extract(isodow FROM {local}) - 1) + extract(hour FROM {local})"
            number = f"({hours})[1 + ({hour})::integer]"
        if not slices.category:
            return number
        code = self._code(connection, query, slices.category)
        return f"{len(slices.times) if slices.times else 1} * {code} + {number}"

    def _code(self, connection: psycopg.Connection, query: Query, category: Category) -> str:
        """Return SQL for the code of a row's value of a category: its index in the declared values.

        The column's distinct values are fetched and read as `ingest.categories` reads them. Those
        that are declared become parameters of the query, with their codes.
        """
        import pyarrow as pa

        from dpgeo.ingest.attributes import codes_of

        column = self.columns[category.column]
        value = value_of(column)
        before = Query()
        where = snapshot_condition(self.file, self.columns, before)
        listed = f"SELECT DISTINCT {value}, ({value})::text FROM {quoted_table(self.folder)}"
        texts: list[str] = []
        codes: list[int] = []
        for some in fetched(connection, f"{listed} WHERE {where}", before.values):
            values, words = zip(*some, strict=True)
            found = codes_of(pa.array(values, arrow_type(column)), category.values)
            for index in np.flatnonzero(found < len(category.values)):
                texts.append(words[index])
                codes.append(int(found[index]))
        known, numbers = query.give(texts, "text[]"), query.give(codes, "bigint[]")
        place = f"array_position({known}, ({value})::text)"
        return f"coalesce(({numbers})[{place}], {len(category.values)})"

    def _erased_here(self, connection: psycopg.Connection, person: str) -> list[Any]:
        """Return the identifiers of the erased persons whom the table has.

        The database has no key to hash identifiers, so this process fetches all distinct ones and
        hashes them.
        """
        import pyarrow as pa

        from dpgeo.ingest.persons import erased_among, hash_persons

        query = Query()
        until = snapshot_condition(self.file, self.columns, query)
        text = (
            f"SELECT DISTINCT {person} FROM {quoted_table(self.folder)} "
            f"WHERE {until} AND {person} IS NOT NULL"
        )
        found: list[Any] = []
        for some in fetched(connection, text, query.values):
            names = [name for (name,) in some]
            sieve = Sieve(np.arange(len(names), dtype=np.int64), Tally())
            kind = pa.string() if self._is_text else pa.int64()
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
    """Return an object that counts a table's rows in its database; None if that is not possible.

    Whether it is possible depends only on the declaration, the study area, the window and the types
    of the columns. If not, this process has to read and count the rows.
    """
    named = schema.columns
    plain = (
        isinstance(location, TableLocation)
        and named.longitude
        and named.latitude
        and not (named.position_format or named.clock or schema.closed)
        and named.crs in IN_DEGREES
        and (schema.area.is_box or Ground.of_area(schema.area))
    )
    if not plain or not isinstance(location, TableLocation):
        return None
    with location.reading(folder) as connection:
        columns = columns_of(connection, quoted_table(folder))
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
    return TableCounter(location, folder, file, schema, key, frozenset(erased), between, columns)


def _divided(regions: ValuedRegions) -> tuple[Grid | Listed, Slicing | None]:
    """Return the regions that all slices have, and the slices, or None if there are none."""
    if isinstance(regions, SlicedGrid):
        return regions.grid, regions.slices
    if isinstance(regions, SlicedZones):
        return regions.zones, regions.slices
    return regions, None
