"""Counts computed in other databases, which equal those of plain Python cell by cell."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely

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
    Sample,
    Wanted,
    answer_query,
    cells_query,
    edges_of,
    rank_query,
    sliced_query,
)
from dpgeo.engine.source_zones import Ground
from dpgeo.privacy.bounding import RankTable, ranks_of
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees, to_mercator
from dpgeo.spatial.zones import Zones
from tests.requirements import need
from tests.servers import postgresql_installed, running_postgresql

AREA = StudyArea.from_bounds(13.0, 52.3, 13.8, 52.7)
GRID = Grid.over(AREA, 16)
DRAW = public_draw(bytes(range(16)))
BOUNDS = (1, 3, 20)
WINDOW = "seen >= 100 AND seen < 900"

STEPS, BINS = 10, 3

Run = Callable[[str], list[tuple[Any, ...]]]
Engine = tuple[Dialect, Run]


def rows() -> dict[str, list[Any]]:
    """Return rows of people with 1 to 60 rows each; some rows have no position."""
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
        "step": [
            None if step < 0 else step for step in random.integers(-1, STEPS + 1, size).tolist()
        ],
    }


ROWS = rows()


def tables(edges: Edges) -> dict[str, pa.Table]:
    """Return tables of cell edges, which are joined in SQL dialects without `width_bucket`."""
    names = ("number", "low", "high")
    intervals = {"eastings": edges.columns(), "northings": edges.rows()}
    return {
        name: pa.table(dict(zip(names, map(list, zip(*each, strict=True)), strict=True)))
        for name, each in intervals.items()
    }


@pytest.fixture(scope="module", params=["duckdb", "postgresql", "spark"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Yield each engine's SQL dialect, with a function that runs queries on the table `facts`."""
    start = {"duckdb": duckdb, "postgresql": postgresql, "spark": spark}
    yield from start[request.param]()


def duckdb() -> Iterator[Engine]:
    import duckdb

    with closing(duckdb.connect()) as connection:
        for name, table in {"facts": pa.table(ROWS), **tables(edges_of(GRID))}.items():
            connection.register(name, table)
        yield DUCKDB, lambda query: connection.execute(query).fetchall()


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
            " seen bigint, step bigint)"
        )
        with connection.cursor().copy("COPY facts FROM STDIN") as copy:
            for row in zip(*ROWS.values(), strict=True):
                copy.write_row(row)
        yield POSTGRESQL, lambda query: asked(connection, query, given)


def asked(connection: Any, query: str, given: list[Any]) -> Any:
    """Return the rows of a query; `given` are its parameters, the cell edges, if it has any."""
    return connection.execute(query.encode(), given if "$2" in query else []).fetchall()


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
    yield SPARK, lambda query: [tuple(row) for row in session.sql(query).collect()]
    session.stop()


def answered(
    engine: Engine,
    wanted: Wanted,
    counting: Counting,
    bound: int,
    *,
    kind: str = "number",
    where: str = WINDOW,
    unit: Unit = Unit.PERSON,
    rank: str = "",
    zones: Zones | None = None,
) -> list[tuple[Any, ...]]:
    """Return the rows that a database finds for a query about cells of `GRID` or about zones."""
    dialect, run = engine
    rows = f"SELECT {kind} AS person, longitude, latitude, step FROM facts WHERE {where}"
    if zones:
        celled = in_zones(engine, rows, zones)
    else:
        lists = {"eastings": "$1::float8[]", "northings": "$2::float8[]"}
        given = lists if dialect is POSTGRESQL else {}
        celled = cells_query(dialect, rows, GRID, also=["step"], **given)
    sample = Sample(
        unit=unit, counting=counting, bound=bound, draw=DRAW, text=kind == "text", rank=rank
    )
    limits = {"steps": STEPS, "bins": BINS, "sightings": 4, "visits": 9, "contributions": 5}
    return run(answer_query(dialect, celled, wanted, sample, **limits))


def in_zones(engine: Engine, rows: str, zones: Zones) -> str:
    """Return a query for the rows with the zone of each.

    The engine first lists the positions near borders. This process finds their zones and puts them
    into the query.
    """
    dialect, run = engine
    ground = Ground.of(zones)
    assert ground is not None
    finite = " AND ".join(f"{name} BETWEEN -180 AND 180" for name in ("longitude", "latitude"))
    rows = f"{rows} AND {finite}"
    found = np.array(run(ground.open_query(rows, written, dialect.fence)), dtype=np.float64)
    assert 10 < len(found) < 100
    assert len(ground.lines)
    located = ground.regions_query(rows, ["step"], written, dialect.fence, *found.T.copy())
    return sliced_query(located, "region", len(zones), also=["step"])


def written(numbers: Any) -> str:
    """Return numbers as an SQL array literal."""
    kind = "float8" if numbers.dtype.kind == "f" else "bigint"
    return f"ARRAY{numbers.tolist()!r}::{kind}[]"


def counted(engine: Engine, kind: str, counting: Counting, bound: int, **more: Any) -> Any:
    return dict(answered(engine, Wanted.COUNTS, counting, bound, kind=kind, **more))


def word_of(person: Any, cell: int, copy: int) -> int:
    """Return the hash that ranks a contribution, computed with Python's integers instead of SQL."""
    if isinstance(person, str):
        digits = hashlib.sha256(person.encode()).hexdigest()
        who = [int(digits[:7], 16), int(digits[7:14], 16)]
    else:
        who = [person % prime for prime in (PRIME, OTHER_PRIME)]
    state = DRAW % PRIME
    for number in (*who, cell % PRIME, cell % OTHER_PRIME, copy, DRAW // PRIME % PRIME):
        state = pow(state + number, 5, PRIME)
    return state


def located(kind: str = "number") -> list[tuple[Any, int, int | None]]:
    """Return the person, cell and measured value (in steps) of each of `ROWS` that GRID counts.

    `kind` is the column that identifies people.
    """
    found = []
    for row in zip(*ROWS.values(), strict=True):
        facts = dict(zip(ROWS, row, strict=True))
        x, y = facts["longitude"], facts["latitude"]
        if x is None or y is None or not (math.isfinite(x) and math.isfinite(y)) or y > 85:
            continue
        if abs(x) <= 180 and 100 <= facts["seen"] < 900:
            easting, northing = to_mercator(x, y)
            cell = math.floor((GRID.north - northing) / GRID.cell) * GRID.columns
            cell += math.floor((easting - GRID.west) / GRID.cell)
            found.append((facts[kind], cell, facts["step"]))
    return found


def in_order(
    rows: Iterable[tuple[Any, int, int | None]],
    counting: Counting,
    rank: Callable[[int], int] = lambda cell: 0,
) -> dict[Any, list[tuple[int, int]]]:
    """Return each person's possible contributions as (cell, measured value in steps).

    Those that come first are kept.
    """
    steps: dict[tuple[Any, int], list[int]] = {}
    for person, cell, step in rows:
        steps.setdefault((person, cell), []).append(step or 0)
    items: dict[Any, list[tuple[int, int, int, int, int]]] = {}
    for (person, cell), values in steps.items():
        if counting is Counting.PEOPLE:
            values = [(2 * sum(values) + len(values)) // (2 * len(values))]
        items.setdefault(person, []).extend(
            (rank(cell), word_of(person, cell, copy), cell, copy, step)
            for copy, step in enumerate(sorted(values), start=1)
        )
    return {
        person: [(cell, step) for _, _, cell, _, step in sorted(each)]
        for person, each in items.items()
    }


def expected(kind: str, counting: Counting, bound: int) -> dict[int, int]:
    """Return the counts by cell when only each person's first `bound` contributions count."""
    items = in_order(located(kind), counting)
    return dict(Counter(cell for each in items.values() for cell, _ in each[:bound]))


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


@pytest.mark.parametrize("counting", Counting)
@pytest.mark.parametrize("bound", BOUNDS)
def test_every_engine_adds_up_the_same_values(
    engine: Engine, counting: Counting, bound: int
) -> None:
    items = in_order((row for row in located() if row[2] is not None), counting)
    kept = [item for each in items.values() for item in each[:bound]]
    numbers = Counter(cell for cell, _ in kept)
    sums: Counter[int] = Counter()
    for cell, step in kept:
        sums[cell] += step
    found = answered(engine, Wanted.SUMS, counting, bound)
    assert sorted(found) == sorted((cell, numbers[cell], sums[cell]) for cell in numbers)
    binned = Counter(cell * BINS + min(step * BINS // STEPS, BINS - 1) for cell, step in kept)
    assert dict(answered(engine, Wanted.BINS, counting, bound)) == binned


@pytest.mark.parametrize("counting", Counting)
def test_every_engine_clips_what_each_person_adds(engine: Engine, counting: Counting) -> None:
    rows = located()
    visits = Counter(person for person, _, _ in rows)
    sightings = Counter(person for person, _ in {(person, cell) for person, cell, _ in rows})
    (totals,) = answered(engine, Wanted.TOTALS, counting, 1)
    clipped = [
        sum(min(each, most) for each in of_each.values())
        for of_each, most in ((sightings, 4), (visits, 9))
    ]
    assert list(totals) == [len(visits), *clipped]
    of_each = sightings if counting is Counting.PEOPLE else visits
    found = dict(answered(engine, Wanted.CONTRIBUTIONS, counting, 1))
    assert found == Counter(min(each, 6) for each in of_each.values())


@pytest.mark.parametrize("counting", Counting)
def test_every_engine_prefers_the_same_popular_places(engine: Engine, counting: Counting) -> None:
    if engine[0] is SPARK:
        pytest.skip("Popular places are not preferred by Spark.")
    popularity = np.random.default_rng(1).integers(0, 5, 64)
    table = RankTable(ranks_of(popularity), 8, 8)
    rank = rank_query(engine[0], table, GRID, written(table.ranks))
    items = in_order(
        located(), counting, lambda cell: int(table.of_cells(np.array([cell]), GRID)[0])
    )
    counts = Counter(cell for each in items.values() for cell, _ in each[:3])
    assert counted(engine, "number", counting, 3, rank=rank) == counts


def test_every_engine_finds_the_same_zones(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine[0] is SPARK:
        pytest.skip("Spark's tasks locate rows in zones themselves.")
    monkeypatch.setattr("dpgeo.engine.source_zones.CELLS", 40)
    shapes = [
        shapely.box(13.0, 52.3, 13.4, 52.7),
        shapely.box(13.4, 52.3, 13.8, 52.5),
        shapely.Polygon([(13.1, 52.3), (13.8, 52.4), (13.4, 52.65)]),
    ]
    zones = Zones(keys=("a", "b", "c"), names=("a", "b", "c"), shapes=np.array(shapes))
    inside = [
        (who, (x, y))
        for who, x, y, seen in zip(
            *(ROWS[name] for name in ("number", "longitude", "latitude", "seen")), strict=True
        )
        if x is not None and y is not None and abs(x) < 180 and abs(y) < 85 and 100 <= seen < 900
    ]
    positions = np.array([position for _, position in inside])
    row, zone = zones.locator().tested(*to_degrees(*to_mercator(*positions.T)))
    visits = Counter(zone.tolist())
    assert counted(engine, "number", Counting.VISITS, 10**6, zones=zones) == visits
    located = [(inside[at][0], each, None) for at, each in zip(row, zone.tolist(), strict=True)]
    items = in_order(located, Counting.PEOPLE)
    chosen = Counter(cell for each in items.values() for cell, _ in each[:2])
    assert counted(engine, "number", Counting.PEOPLE, 2, zones=zones) == chosen


def test_every_engine_counts_a_record_in_one_of_several_regions(engine: Engine) -> None:
    """A record that lies in three regions counts in only one; here, some records are identical."""
    dialect, run = engine
    records = (
        "SELECT row_number() OVER (ORDER BY seen, number) AS person, seen, step FROM facts "
        f"WHERE {WINDOW}"
    )
    celled = (
        "SELECT person, seen + region AS cell, step, mod(seen, 7) AS east, seen - 500 AS north, "
        f"CAST(1 AS BIGINT) AS moment FROM ({records}) AS records CROSS JOIN "
        "(SELECT 0 AS region UNION ALL SELECT 1 UNION ALL SELECT 2) AS regions"
    )
    sample = Sample(
        unit=Unit.RECORD, counting=Counting.VISITS, bound=1, draw=DRAW, text=False, several=True
    )
    chosen = Counter(
        min(range(seen, seen + 3), key=lambda cell: (content_word(seen, cell), cell))
        for seen in ROWS["seen"]
        if 100 <= seen < 900
    )
    assert dict(run(answer_query(dialect, celled, Wanted.COUNTS, sample))) == chosen
    with_step = [
        seen for seen, step in zip(ROWS["seen"], ROWS["step"], strict=True) if step is not None
    ]
    sums = run(answer_query(dialect, celled, Wanted.SUMS, sample))
    assert sum(amount for _, amount, _ in sums) == sum(100 <= seen < 900 for seen in with_step)
    offsets = Counter(
        min(range(3), key=lambda offset: content_word(seen, seen + offset)) for seen in range(3000)
    )
    assert all(abs(offsets[offset] - 1000) < 6 * math.sqrt(3000 * 2 / 9) for offset in range(3))


def content_word(seen: int, cell: int) -> int:
    """Return the hash of a record's content and a region, by which the region is ranked."""
    state = DRAW % PRIME
    content = ((seen % 7) % PRIME, (seen - 500) % PRIME, 1)
    for number in (*content, cell % PRIME, cell % OTHER_PRIME, 1, DRAW // PRIME % PRIME):
        state = pow(state + number, 5, PRIME)
    return state


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
    """Each of a person's cells is as likely to be chosen as the others.

    Each of 3 cells is first for about a third of 3,000 people; 6 standard deviations are allowed.
    The hashes are fixed, so the test cannot fail by chance.
    """
    for cells in ([0, 1, 2], [5, 21, 37], [1000, 4096, 100_000]):
        first = Counter(min(cells, key=lambda cell: word_of(who, cell, 1)) for who in range(3_000))
        assert all(abs(first[cell] - 1_000) < 6 * math.sqrt(3_000 * 2 / 9) for cell in cells)
