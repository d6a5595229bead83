"""Small uploads for the tests of ingestion, and the canonical rows they become."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpgeo.core.guarantees import Unit
from dpgeo.ingest.canonical import CANONICAL, canonical_rows, declared_schema
from dpgeo.ingest.csv_lines import BLOCK_BYTES
from dpgeo.ingest.csv_reader import read_csv
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.ingestion import ingest_parts
from dpgeo.ingest.parquet_reader import BATCH_ROWS, read_parquet
from dpgeo.ingest.report import Report, Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.spatial.area import StudyArea

KEY = bytes(range(32))
AREA = StudyArea.from_bounds(-10, 30, 10, 60)
COLUMNS = Columns(longitude="lon", latitude="lat", person="who")


def schema(
    columns: Columns = COLUMNS,
    unit: Unit = Unit.PERSON,
    area: StudyArea = AREA,
    time_zone: str = "UTC",
) -> Schema:
    return Schema(columns, unit, area, time_zone)


def read_text(
    path: Path, declared: Schema, block_bytes: int = BLOCK_BYTES
) -> tuple[pa.Table, Report]:
    """Return the canonical rows and the report of a CSV file, read in blocks of a given size."""
    tally = Tally()
    batches = read_csv(path, declared.wanted, tally, block_bytes=block_bytes)
    return collected(batches, declared, tally)


def read_columns(
    path: Path, declared: Schema, batch_rows: int = BATCH_ROWS
) -> tuple[pa.Table, Report]:
    """Return canonical rows and report of a Parquet file, read in batches of a given size."""
    tally = Tally()
    batches = read_parquet(path, declared.wanted, tally, batch_rows=batch_rows)
    return collected(batches, declared, tally)


def ingest_here(source: Path, file_name: str, *arguments: Any) -> Report:
    """Ingest an unpacked file in this process; the arguments are those of `ingest`."""
    return ingest_parts([Part(source, file_name)], *arguments)


def collected(batches: Any, declared: Schema, tally: Tally) -> tuple[pa.Table, Report]:
    rows = [canonical_rows(batch, declared, KEY, tally) for batch in batches]
    return pa.Table.from_batches(rows, declared_schema(declared)).combine_chunks(), tally.report()


def csv_of(folder: Path, text: str | bytes, declared: Schema | None = None) -> tuple[Any, Report]:
    """Return the canonical rows and the report of a CSV file with this content."""
    path = folder / "upload.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_text(path, declared or schema())


def refused(folder: Path, row: str | bytes, declared: Schema | None = None) -> dict[str, int]:
    """Return the reasons, with counts, for refusing a row between two valid rows.

    The file has the columns who, lat, lon and t.
    """
    line = row if isinstance(row, bytes) else row.encode()
    good = b"anna,45,5,0\n"
    _, report = csv_of(folder, b"who,lat,lon,t\n" + good + line + b"\n" + good, declared)
    assert report.read == 3
    assert report.accepted == 3 - len(report.refused)
    return report.refused


def parquet_of(
    folder: Path, columns: dict[str, Any], declared: Schema | None = None
) -> tuple[Any, Report]:
    """Return the canonical rows and the report of a Parquet file with these columns."""
    path = folder / "upload.parquet"
    pq.write_table(pa.table(columns), path)
    return read_columns(path, declared or schema())


def people(rows: Any) -> list[tuple[int, int]]:
    """Return the person of each canonical row, as the two halves of a hash."""
    return list(zip(rows["person_high"].to_pylist(), rows["person_low"].to_pylist(), strict=True))


def clustered(rows: pa.Table) -> pa.Table:
    """Return the rows in the order of a small canonical file, which is sorted all at once.

    The order is that of the first 16 bits of the persons' hashes.
    """
    bits_of_person = rows["person_high"].to_numpy() >> np.uint64(48)
    return rows.take(pa.array(np.argsort(bits_of_person, kind="stable")))


def bits(rows: Any) -> list[bytes]:
    """Return the bytes of every canonical column, so that nulls are compared, too."""
    return [rows[name].to_numpy(zero_copy_only=False).tobytes() for name in rows.column_names]


def concatenated(tables: Sequence[Any]) -> Any:
    empty = [] if tables else [CANONICAL.empty_table()]
    return pa.concat_tables([*empty, *tables]).combine_chunks()
