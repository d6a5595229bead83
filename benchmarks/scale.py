"""Processor time and memory of reading a registered folder, and of counting its canonical file.

The folder has invented visits of people whose ids are integers: every person goes to one of five
places nearby, at any time of a month. Each step runs in a process of its own, with one thread, so
that its own memory can be measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.ingest.ingestion import ingest_batches
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.ingest.source_rows import source_batches
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

AREA = StudyArea.from_bounds(7.0, 47.0, 9.0, 49.0)
GRID = Grid.over(AREA, 1024)
SCHEMA = Schema(
    columns=Columns(longitude="lon", latitude="lat", person="who", time="at"),
    unit=Unit.PERSON,
    area=AREA,
    time_zone="UTC",
)
KEY = bytes(range(64))
SALT = bytes(range(16))
BOUND = 10
BLOCK = 1_000_000
"""Number of rows that are invented at a time."""


def add_to(subcommands: Any) -> None:
    """Add this benchmark's subcommand."""
    parser = subcommands.add_parser("scale", help=__doc__)
    parser.set_defaults(run=run)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--people", type=int, default=400_000)
    parser.add_argument("--parts", type=int, default=10, help="number of Parquet files")
    parser.add_argument("--counting", choices=list(Counting), help="what to count; both by default")
    parser.add_argument("--memory-mib", type=int, default=4096)


@dataclass(frozen=True)
class Cost:
    """Processor time of a step in seconds, and its largest memory in bytes."""

    seconds: float
    memory: int


def run(options: argparse.Namespace) -> None:
    """Print a line for each step of reading and counting."""
    with tempfile.TemporaryDirectory(prefix="dpgeo-scale-") as name:
        folder = Path(name)
        _measured(partial(_invent, folder, options.rows, options.people, options.parts))
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        print(
            f"{options.rows:,} rows, {options.people:,} persons, {options.parts} files, {size:,} B"
        )
        canonical = folder / "canonical" / "rows.parquet"
        canonical.parent.mkdir()
        _say("reading", _measured(partial(_read, folder, canonical)), options.rows)
        for counting in [Counting(options.counting)] if options.counting else Counting:
            count = partial(_count, canonical, counting, options.memory_mib << 20)
            _say(f"counting {counting}", _measured(count), options.rows)


def _invent(folder: Path, rows: int, people: int, parts: int) -> None:
    schema = pa.schema(
        {"who": pa.int64(), "lon": pa.float64(), "lat": pa.float64(), "at": pa.timestamp("s")}
    )
    draw = np.random.default_rng(1)
    homes = draw.uniform((7.05, 47.05), (8.95, 48.95), (people, 2))
    for part in range(parts):
        left = rows * (part + 1) // parts - rows * part // parts
        with pq.ParquetWriter(folder / f"part-{part:03}.parquet", schema) as writer:
            while left:
                size = min(left, BLOCK)
                who = draw.integers(0, people, size)
                place = homes[who] + 0.01 * draw.integers(-2, 3, (size, 1))
                at = 1_772_323_200 + draw.integers(0, 30 * 86_400, size)
                columns = [who, place[:, 0], place[:, 1], at.astype("datetime64[s]")]
                writer.write_table(pa.table(columns, schema=schema))
                left -= size


def _read(folder: Path, canonical: Path) -> None:
    tally = Tally()
    batches = (
        (SCHEMA, batch)
        for path in sorted(folder.glob("*.parquet"))
        for batch in source_batches(path, {}, SCHEMA.wanted, tally, SCHEMA.columns.crs)
    )
    ingest_batches(batches, SCHEMA, tally, KEY, canonical, lambda done, total: None)


def _count(path: Path, counting: Counting, memory: int) -> None:
    view = DuckDBView(
        path,
        domain=Domain(AREA, {}),
        unit=Unit.PERSON,
        counting=counting,
        bound=BOUND,
        salt=SALT,
        threads=1,
        memory_bytes=memory,
    )
    view.histogram(GRID)._read_by_meter()


def _measured(step: Callable[[], None]) -> Cost:
    """Read or count in a new process; return its processor time and its memory."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_timed, step).result()


def _timed(step: Callable[[], None]) -> Cost:
    began = time.process_time()
    step()
    seconds = time.process_time() - began
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Cost(seconds, largest * (1 if sys.platform == "darwin" else 1024))


def _say(what: str, cost: Cost, rows: int) -> None:
    each = 1e6 * cost.seconds / rows
    print(f"{what:28} {cost.seconds:8.1f} s  {each:6.2f} us a row  {cost.memory >> 20:6} MiB")
    sys.stdout.flush()
