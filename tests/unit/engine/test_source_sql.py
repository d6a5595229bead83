"""Counting at the source: every engine counts the same, cell by cell, and as plain Python does."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.pushed_view import public_draw
from dpgeo.engine.source_sql import (
    DUCKDB,
    OTHER_PRIME,
    POSTGRESQL,
    PRIME,
    SPARK,
    Dialect,
    Edges,
    counting_query,
    edges_of,
)
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_mercator
from tests.requirements import need
from tests.servers import postgresql_installed, running_postgresql

AREA = StudyArea.from_bounds(13.0, 52.3, 13.8, 52.7)
GRID = Grid.over(AREA, 16)
DRAW = public_draw(bytes(range(16)))
BOUNDS = (1, 3, 20)
WINDOW = "seen >= 100 AND seen < 900"

Run = Callable[[str], dict[int, int]]
Engine = tuple[Dialect, Run]


def rows() -> dict[str, list[Any]]:
    """Return rows of persons with 1 to 60 rows each, some of which are nowhere."""
    random = np.random.default_rng(7)
    count = np.repeat(np.arange(40), random.integers(1, 60, 40))
    size = len(count)
    longitude: list[float | None] = random.uniform(13.0, 13.8, size).round(1).tolist()
    latitude: list[float | None] = random.uniform(52.3, 52.7, size).round(1).tolist()
    longitude[:5] = [math.nan, math.inf, -math.inf, None, 1e308]
    latitude[5:10] = [math.nan, math.inf, -math.inf, None, 89.9]
    numbers = [(-1) ** int(who) * (int(who) << 55) for who in count]
    return {
        "number": numbers,
        "text": [f"pérson {who}" if who % 2 else f"Pérson {who}" for who in count // 2 * 2],
        "longitude": longitude,
        "latitude": latitude,
        "seen": random.integers(0, 1000, size).tolist(),
    }


ROWS = rows()


def tables(edges: Edges) -> dict[str, pa.Table]:
    """Return the tables that the dialects without `width_bucket` join."""
    names = ("number", "low", "high")
    intervals = {"eastings": edges.columns(), "northings": edges.rows()}
    return {
        name: pa.table(dict(zip(names, map(list, zip(*each, strict=True)), strict=True)))
        for name, each in intervals.items()
    }


@pytest.fixture(scope="module", params=["duckdb", "postgresql", "spark"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Return each engine's dialect, and what runs its queries on `facts`."""
    start = {"duckdb": duckdb, "postgresql": postgresql, "spark": spark}
    yield from start[request.param]()


def duckdb() -> Iterator[Engine]:
    import duckdb

    with closing(duckdb.connect()) as connection:
        for name, table in {"facts": pa.table(ROWS), **tables(edges_of(GRID))}.items():
            connection.register(name, table)
        yield DUCKDB, lambda query: dict(connection.execute(query).fetchall())


def postgresql() -> Iterator[Engine]:
    need(postgresql_installed(), "PostgreSQL: apt-get install postgresql")
    import psycopg

    edges = edges_of(GRID)
    given = [edges.longitudes.tolist(), edges.latitudes.tolist()]
    with (
        running_postgresql() as (address, _),
        psycopg.connect(f"{address}/postgres", cursor_factory=psycopg.RawCursor) as connection,
    ):
        connection.execute(
            "CREATE TABLE facts (number bigint, text text, longitude float8, latitude float8,"
            " seen bigint)"
        )
        with connection.cursor().copy("COPY facts FROM STDIN") as copy:
            for row in zip(*ROWS.values(), strict=True):
                copy.write_row(row)
        yield POSTGRESQL, lambda query: dict(connection.execute(query.encode(), given).fetchall())


def spark() -> Iterator[Engine]:
    if os.environ.get("DPGEO_AUDIT") != "1":
        pytest.skip("Spark is asked by make audit alone.")
    need(importlib.util.find_spec("pyspark"), "Spark: make .venv/done/spark")
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.ansi.enabled", "true")
        .getOrCreate()
    )
    for name, table in {"facts": pa.table(ROWS), **tables(edges_of(GRID))}.items():
        values = [tuple(row.values()) for row in table.to_pylist()]
        kinds = {pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}
        schema = ", ".join(f"{each.name} {kinds[each.type]}" for each in table.schema)
        session.createDataFrame(values, schema).cache().createOrReplaceTempView(name)
    yield SPARK, lambda query: {row.cell: row.amount for row in session.sql(query).collect()}
    session.stop()


def counted(
    engine: Engine, kind: str, counting: Counting, bound: int, *, where: str = WINDOW, **more: Any
) -> dict[int, int]:
    dialect, run = engine
    query = counting_query(
        dialect,
        f"SELECT {kind} AS person, longitude, latitude FROM facts WHERE {where}",
        GRID,
        counting=counting,
        bound=bound,
        draw=DRAW,
        text=kind == "text",
        **{"unit": Unit.PERSON, **more},
    )
    return run(query)


def word_of(person: Any, cell: int, copy: int) -> int:
    """Return an item's hash, computed by Python's own whole numbers."""
    if isinstance(person, str):
        digits = hashlib.sha256(person.encode()).hexdigest()
        who = [int(digits[:7], 16), int(digits[7:14], 16)]
    else:
        who = [person % prime for prime in (PRIME, OTHER_PRIME)]
    state = DRAW % PRIME
    for number in (*who, cell % PRIME, cell % OTHER_PRIME, copy, DRAW // PRIME % PRIME):
        state = pow(state + number, 5, PRIME)
    return state


def expected(kind: str, counting: Counting, bound: int) -> dict[int, int]:
    """Return the bounded counts by cell, by sorting each person's items."""
    visits: Counter[tuple[Any, int]] = Counter()
    for row in zip(*ROWS.values(), strict=True):
        facts = dict(zip(ROWS, row, strict=True))
        x, y = facts["longitude"], facts["latitude"]
        if x is None or y is None or not (math.isfinite(x) and math.isfinite(y)) or y > 85:
            continue
        if abs(x) <= 180 and 100 <= facts["seen"] < 900:
            easting, northing = to_mercator(x, y)
            cell = math.floor((GRID.north - northing) / GRID.cell) * GRID.columns
            visits[facts[kind], cell + math.floor((easting - GRID.west) / GRID.cell)] += 1
    items: dict[Any, list[tuple[int, int]]] = {}
    for (person, cell), number in visits.items():
        copies = range(1, 2 if counting is Counting.PEOPLE else number + 1)
        of_person = items.setdefault(person, [])
        of_person += [(word_of(person, cell, copy), cell) for copy in copies]
    return dict(Counter(cell for each in items.values() for _, cell in sorted(each)[:bound]))


@pytest.mark.parametrize("kind", ["number", "text"])
@pytest.mark.parametrize("counting", Counting)
@pytest.mark.parametrize("bound", BOUNDS)
def test_every_engine_draws_the_same_sample(
    engine: Engine, kind: str, counting: Counting, bound: int
) -> None:
    assert counted(engine, kind, counting, bound) == expected(kind, counting, bound)


@pytest.mark.parametrize("counting", Counting)
@pytest.mark.parametrize("bound", BOUNDS)
def test_removing_a_person_changes_at_most_bound_counts(
    engine: Engine, counting: Counting, bound: int
) -> None:
    whole = Counter(counted(engine, "number", counting, bound))
    for who in (0, -(1 << 55), 6 << 55):
        rest = Counter(
            counted(engine, "number", counting, bound, where=f"{WINDOW} AND number <> {who}")
        )
        assert not rest - whole
        assert (whole - rest).total() <= bound
    assert (whole - rest).total() >= 1


def test_every_engine_counts_all_records(engine: Engine) -> None:
    records = counted(engine, "number", Counting.VISITS, 1, unit=Unit.RECORD)
    assert records == expected("number", Counting.VISITS, 10**6)


def test_positions_on_edges_are_located_as_by_projection() -> None:
    grid = Grid.over(AREA, 4096)
    edges = edges_of(grid)
    for longitude in (edges.longitudes, np.nextafter(edges.longitudes, 0)):
        x, _ = to_mercator(longitude, 0)
        column = np.floor((x - grid.west) / grid.cell)
        found = np.searchsorted(edges.longitudes, longitude, side="right") - 1
        np.testing.assert_array_equal(column, found)
    for latitude in (edges.latitudes, np.nextafter(edges.latitudes, 0)):
        _, y = to_mercator(0, latitude)
        row = np.floor((grid.north - y) / grid.cell)
        found = grid.rows - np.searchsorted(edges.latitudes, latitude, side="right")
        np.testing.assert_array_equal(row, found)


def test_each_of_a_persons_cells_is_as_likely_to_be_chosen() -> None:
    """Of 3 cells, each is first for a third of 3,000 persons; 6 standard deviations are allowed.

    The numbers are fixed, so the test cannot fail by chance.
    """
    for cells in ([0, 1, 2], [5, 21, 37], [1000, 4096, 100_000]):
        first = Counter(min(cells, key=lambda cell: word_of(who, cell, 1)) for who in range(3_000))
        assert all(abs(first[cell] - 1_000) < 6 * math.sqrt(3_000 * 2 / 9) for cell in cells)


def test_the_public_number_tells_nothing_of_the_salt() -> None:
    assert public_draw(bytes(16)) != public_draw(bytes([*bytes(15), 1]))
    assert 0 <= public_draw(bytes(16)) < 1 << 62
