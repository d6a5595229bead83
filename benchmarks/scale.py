"""Time, memory and traffic of counts on a cluster of Spark, compared with DuckDB on one file.

A master and two workers with one core each run on this machine, in folders of their own. The rows
are invented visits of people whose ids are integers: every person goes to one of five places
nearby, at any time of a month. All counts are compared cell by cell. It needs Java 17 and
`.venv/bin/python locks/install.py locks/spark.txt`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.engine.spark import Cluster, SparkView, grouping_key, public_draw, write_rows
from dpgeo.engine.spark_tasks import SparkFile
from dpgeo.ingest.canonical import declared_schema
from dpgeo.ingest.recorded_files import RecordedFile, footer_checksum
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.ingest.source_rows import source_rows
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.services.spark_cluster import SparkCluster, running_cluster

AREA = StudyArea.from_bounds(7.0, 47.0, 9.0, 49.0)
GRID = Grid.over(AREA, 1024)
SCHEMA = Schema(
    columns=Columns(longitude="lon", latitude="lat", person="who", time="at"),
    unit=Unit.PERSON,
    area=AREA,
    time_zone="UTC",
)
SALT = bytes(range(16))
DRAW = public_draw(SALT)
BOUND = 10
BLOCK = 1_000_000
"""Number of rows that are invented at a time."""


def add_to(subcommands: Any) -> None:
    """Add this benchmark's subcommand."""
    parser = subcommands.add_parser("scale", help=__doc__)
    parser.set_defaults(run=run)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--parts", type=int, default=20, help="number of Parquet files")
    parser.add_argument("--counting", choices=list(Counting), help="what to count; both by default")
    parser.add_argument("--memory-mib", type=int, default=1024, help="for DuckDB, in each process")


@dataclass
class Partitions:
    """The canonical rows of all files in a folder (`engine.spark.Rows`)."""

    folder: Path
    number: int
    people: int

    @property
    def schema(self) -> pa.Schema:
        """The schema of the canonical rows."""
        return declared_schema(SCHEMA)

    @property
    def paths(self) -> list[Path]:
        """The files, in the order of their names."""
        return sorted(self.folder.glob("*.parquet"))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files."""
        for path in self.paths:
            yield from source_rows(path, {}, SCHEMA, grouping_key(DRAW), Tally())


def run(options: argparse.Namespace) -> None:
    """Print a line for each step of writing and counting. Raises ValueError if counts differ."""
    with tempfile.TemporaryDirectory(prefix="dpgeo-scale-") as name:
        folder = Path(name)
        rows = Partitions(folder / "lake", options.rows, options.people)
        rows.folder.mkdir()
        _invent(rows.folder, options.rows, options.people, options.parts)
        size = sum(path.stat().st_size for path in rows.paths)
        print(
            f"{options.rows:,} rows, {options.people:,} people, {options.parts} files, {size:,} B"
        )
        single = folder / "rows.parquet"
        _said("one canonical file", options.rows, partial(write_rows, rows, single))
        (folder / "cluster").mkdir()
        with running_cluster(folder / "cluster", f"{options.memory_mib}m") as cluster:
            os.environ |= cluster.environment("driver") | {"PYSPARK_PYTHON": sys.executable}
            _compare(options, rows, single, cluster, folder)
    print("All counts are equal.")


def _compare(
    options: argparse.Namespace, rows: Partitions, single: Path, cluster: SparkCluster, folder: Path
) -> None:
    counting = Cluster(
        master=cluster.master,
        files=[_file(path) for path in rows.paths],
        secret=bytes(64),
        key=grouping_key(DRAW),
        between=None,
        memory_bytes=options.memory_mib << 20,
        folder=folder,
    )
    with counting:
        _said("start of a session", 1, counting._started)
        for what in [Counting(options.counting)] if options.counting else Counting:
            settings: dict[str, Any] = {
                "domain": Domain(AREA, {}),
                "unit": Unit.PERSON,
                "counting": what,
                "bound": BOUND,
                "threads": 1,
                "memory_bytes": options.memory_mib << 20,
                "folder": folder,
            }
            alone = DuckDBView(single, salt=DRAW, **settings)
            expected = _said(f"{what}, DuckDB", rows.number, partial(_counts, alone))
            spark = SparkView(rows, counting.count, salt=SALT, **settings)
            before = traffic(cluster)
            found = _said(f"{what}, Spark", rows.number, partial(_counts, spark), cluster)
            moved, spilled = (
                now - then for now, then in zip(traffic(cluster), before, strict=True)
            )
            print(f"  shuffled {moved / rows.number:.1f} B a row; spilled {spilled:,} B")
            if not np.array_equal(found, expected):
                raise ValueError("The counts differ.")


def _counts(view: DuckDBView) -> NDArray[np.int64]:
    return view.histogram(GRID)._read_by_meter()


def _file(path: Path) -> SparkFile:
    stat = path.stat()
    recorded = RecordedFile(
        root=str(path.parent),
        path=path.name,
        size=stat.st_size,
        stamp=str(stat.st_mtime_ns),
        footer=footer_checksum(path),
    )
    return SparkFile(recorded=recorded, named={}, schema=SCHEMA)


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


def _said(
    what: str, rows: int, step: Callable[[], Any], cluster: SparkCluster | None = None
) -> Any:
    """Print the elapsed time, processor time and largest memory of a step; return its result."""
    workers = [worker.process.pid for worker in cluster.workers] if cluster else []
    began, cpu = time.monotonic(), time.process_time() + sum(map(_cpu_seconds, workers))
    found = step()
    elapsed = time.monotonic() - began
    used = time.process_time() + sum(map(_cpu_seconds, workers)) - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    largest = f"; executors with their Python {sum(map(_memory_mib, workers)):,} MiB"
    print(
        f"{what:20} {elapsed:7.1f} s, of processors {used:7.1f} s = {1e6 * used / rows:5.2f} us a "
        f"row, {memory:,} MiB here{largest if workers else ''}",
        flush=True,
    )
    return found


def _cpu_seconds(process: int) -> float:
    """Return the processor time of a process and of all its descendants."""
    with suppress(OSError):
        facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        own = sum(map(int, facts[11:15])) / os.sysconf("SC_CLK_TCK")
        return own + sum(map(_cpu_seconds, _children(process)))
    return 0.0


def _memory_mib(process: int) -> int:
    """Return the sum of the largest memory of a process and of each of its descendants."""
    with suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        own = int((status.partition("VmHWM:")[2] or "0").split()[0]) >> 10
        return own + sum(map(_memory_mib, _children(process)))
    return 0


def _children(process: int) -> list[int]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for each in lists for child in each.read_text().split()]


def traffic(cluster: SparkCluster) -> tuple[int, int]:
    """Return the bytes that tasks have sent to each other, and those that they spilled."""
    moved = spilled = 0
    for path in (cluster.folder / "events").rglob("events_*"):
        for line in path.read_text().splitlines():
            with suppress(json.JSONDecodeError):
                metrics = json.loads(line).get("Task Metrics") or {}
                moved += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                spilled += metrics.get("Disk Bytes Spilled", 0)
    return moved, spilled
