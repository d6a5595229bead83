"""Processor time from an upload to its canonical file, compared with the time that DuckDB takes."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import trips
from benchmarks.timing import Line, best_of, compared
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.ingestion import ingest_parts
from dpgeo.ingest.schema import Columns, Schema

KEY = bytes(64)

# The rows of `trips` with positions in degrees, and with text for persons and times. They are in
# the order of their times, as in a log. In a canonical file each person's rows are together; an
# upload in that order would need almost no hashing, and the measured times would be too short.
_CSV = """
COPY (
    SELECT 'user-' || person_high % ($people::UBIGINT * 20) AS person,
        round(degrees(x / 6378137), 6) AS lon,
        round(degrees(2 * atan(exp(y / 6378137)) - pi() / 2), 6) AS lat,
        strftime(make_timestamp((1704067200 + time) * 1000000), '%Y-%m-%dT%H:%M:%S') AS moment
    FROM read_parquet('{source}') ORDER BY time
) TO '{target}' (HEADER)
"""

_GEOJSON = """
COPY (
    SELECT '{"type":"Feature","properties":{"person":"' || person || '","moment":"' || moment
        || '"},"geometry":{"type":"Point","coordinates":[' || lon || ',' || lat || ']}}' AS feature
    FROM read_csv('{source}', all_varchar = true)
) TO '{target}' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\t')
"""

# DuckDB's fastest hash function, used twice, stands for our keyed hash of 128 bits. It protects
# nobody, but it is fast, so the comparison favours DuckDB.
_DUCKDB = """
COPY (
    SELECT hash($key, person) AS person_high, hash(person, $key) AS person_low,
        radians(lon) * 6378137 AS x, ln(tan(pi() / 4 + radians(lat) / 2)) * 6378137 AS y,
        epoch(moment)::BIGINT AS time, NULL::INT AS attributes
    FROM read_csv('{source}', columns = {
        'person': 'VARCHAR', 'lon': 'DOUBLE', 'lat': 'DOUBLE', 'moment': 'TIMESTAMP'})
) TO '{target}' (FORMAT parquet, COMPRESSION zstd)
"""


def ingested(canonical: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Yield the time to read CSV, compared with DuckDB's time, and the time to read line-delimited
    GeoJSON, compared with that for CSV.

    Times are processor times. The transfer of the file and its preview are left out.
    """
    with tempfile.TemporaryDirectory(prefix="dpgeo-benchmark-") as name:
        folder = Path(name)
        table, features = folder / "trips.csv", folder / "trips.geojsonl"
        write_csv(canonical, table, options.people)
        _run(_GEOJSON, table, features)
        ours, reference = best_of(
            options.repeat,
            lambda: ingest_csv(table, folder),
            lambda: _run(_DUCKDB, table, folder / "peer.parquet", key="key"),
            clock=time.process_time,
        )
        yield compared(
            f"ingest: CSV of {options.rows:,} rows to the canonical file, in processor time",
            ours,
            "DuckDB reads, hashes, parses and writes the same file",
            reference,
        )
        by_line, reference = best_of(
            options.repeat,
            lambda: _ingest(
                features, folder, Columns(geometry="geometry", person="person", time="moment")
            ),
            lambda: ingest_csv(table, folder),
            clock=time.process_time,
        )
        yield compared(
            f"ingest: GeoJSON by lines of {options.rows:,} features, in processor time",
            by_line,
            "the same rows as CSV",
            reference,
        )


def write_csv(canonical: Path, target: Path, people: int) -> None:
    """Write a canonical file's trips as CSV: persons and times as text, positions in degrees."""
    _run(_CSV, canonical, target, people=people)


def ingest_csv(source: Path, folder: Path) -> None:
    """Convert CSV that `write_csv` wrote to a canonical file in `folder`."""
    _ingest(source, folder, Columns("lon", "lat", person="person", time="moment"))


def _ingest(source: Path, folder: Path, columns: Columns) -> None:
    schema = Schema(columns, Unit.PERSON, trips.AREA)
    parts = [Part(source, source.name)]
    ingest_parts(parts, schema, KEY, folder / "ours.parquet", lambda done, total: None)


def _run(query: str, source: Path, target: Path, **parameters: int | str) -> None:
    with trips.connected() as connection:
        connection.execute(
            query.replace("{source}", str(source)).replace("{target}", str(target)), parameters
        )
