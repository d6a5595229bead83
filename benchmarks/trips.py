"""Invented trips in a canonical file, and an invented city as cell counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

if TYPE_CHECKING:
    import duckdb

AREA = StudyArea.from_bounds(10.0, 50.0, 10.5, 50.3)

# Each person has a home, and every trip ends within a few kilometres of it. Some people make far
# more trips than others.
_TRIPS = """
WITH people AS (
    SELECT i, floor($people * pow((hash(i, 1) % 1000000007) / 1000000007.0, 2))::UBIGINT AS who
    FROM range($rows) AS numbers(i)
)
SELECT hash(who, 17) AS person_high, hash(who, 18) AS person_low,
    $west + $width * (0.8 * (hash(who, 2) % 1000003) + 0.2 * (hash(i, 3) % 1000003)) / 1000003
        AS x,
    $south + $height * (0.8 * (hash(who, 4) % 1000003) + 0.2 * (hash(i, 5) % 1000003)) / 1000003
        AS y,
    (hash(i, 6) % 31536000)::BIGINT AS time, NULL::INTEGER AS attributes
FROM people
"""

_PLAIN = """
SELECT cell, count(*) AS amount
FROM (
    SELECT TRY_CAST(floor(($north - y) / $cell) * $columns + floor((x - $west) / $cell) AS UBIGINT)
        AS cell
    FROM read_parquet($path)
)
GROUP BY cell
"""

_DISTINCT = """
SELECT cell, count(DISTINCT who) AS amount
FROM (
    SELECT (person_high, person_low) AS who,
        TRY_CAST(floor(($north - y) / $cell) * $columns + floor((x - $west) / $cell) AS UBIGINT)
            AS cell
    FROM read_parquet($path)
)
GROUP BY cell
"""

_BOUNDED = """
SELECT keys & 16777215 AS cell, count(*) AS amount
FROM (
    SELECT unnest(min((hash(who, x, y, time) & ~16777215::UBIGINT) | cell, $bound)) AS keys
    FROM (
        SELECT (person_high, person_low) AS who, x, y, time,
            TRY_CAST(
                floor(($north - y) / $cell) * $columns + floor((x - $west) / $cell) AS UBIGINT
            ) AS cell
        FROM read_parquet($path)
    )
    GROUP BY who
)
GROUP BY 1
"""


def connected() -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection that shows no progress bar, also in a terminal."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    return connection


def write(path: Path, *, rows: int, people: int) -> None:
    """Write a canonical file of `rows` trips by `people` people, as ingestion writes it."""
    import pyarrow as pa

    from dpgeo.ingest.canonical import CANONICAL, canonical_file

    west, south, east, north = AREA.mercator_bounds
    with connected() as connection, canonical_file(path, CANONICAL) as writer:
        query = connection.sql(
            _TRIPS,
            params={
                "people": people,
                "rows": rows,
                "west": west,
                "width": east - west,
                "south": south,
                "height": north - south,
            },
        )
        for batch in query.to_arrow_reader(1 << 17):
            writer.write(pa.RecordBatch.from_arrays(batch.columns, schema=CANONICAL))


def plain_counts(path: Path, grid: Grid) -> NDArray[np.int64]:
    """Return the cell counts (rows, columns) without a contribution bound or noise."""
    return _run(_PLAIN, path, grid)


def distinct_counts(path: Path, grid: Grid) -> NDArray[np.int64]:
    """Return the numbers of people (rows, columns) without a contribution bound or noise."""
    return _run(_DISTINCT, path, grid)


def bounded_counts(path: Path, grid: Grid, bound: int) -> NDArray[np.int64]:
    """Return the number of rows in each cell, without noise, of at most `bound` rows a person.

    A single query computes them. If a person has more rows, a hash decides which of them count.
    """
    return _run(_BOUNDED, path, grid, bound=bound)


def _run(query: str, path: Path, grid: Grid, **more: int) -> NDArray[np.int64]:
    parameters: dict[str, str | int | float] = {
        **more,
        "path": str(path),
        "west": grid.west,
        "north": grid.north,
        "cell": grid.cell,
        "columns": grid.columns,
    }
    counts = np.zeros(grid.size, dtype=np.int64)
    with connected() as connection:
        columns = connection.execute(query, parameters).fetchnumpy()
    counts[columns["cell"]] = columns["amount"]
    return counts.reshape(grid.shape)


def city(cells: int, *, people: int) -> NDArray[np.int64]:
    """Return counts (cells, cells) of people in districts and blocks of very unequal density."""
    random = np.random.default_rng(1)
    districts = random.lognormal(0, 1, (cells // 16, cells // 16)).repeat(16, 0).repeat(16, 1)
    blocks = random.pareto(1.1, (cells // 4, cells // 4)).repeat(4, 0).repeat(4, 1)
    crowd = districts * blocks
    counts = random.poisson(people * crowd / crowd.sum())
    return np.asarray(counts, dtype=np.int64)
