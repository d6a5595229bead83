"""Processor time and memory of a partitioned folder read in place, compared with one canonical
file.

Counts in shards are measured as well, unless `--measured` is -1.

The folder has invented visits of people whose ids are integers: every person goes to one of five
places nearby, at any time of a month. Each step runs in a process of its own, with one thread, so
that its own memory can be measured. All counts are compared cell by cell.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
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
from dpgeo.engine.duckdb_view import DuckDBView, Sampling
from dpgeo.engine.in_place import EVERYBODY, Division, InPlaceView, Question, write_rows
from dpgeo.ingest.canonical import declared_schema
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.ingest.source_rows import source_rows
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
    parser.add_argument("--shards", type=int, default=4, help="number of workers")
    parser.add_argument(
        "--measured", type=int, default=0, help="number of shards to run; 0: all, -1: none"
    )
    parser.add_argument("--counting", choices=list(Counting), help="what to count; both by default")
    parser.add_argument("--memory-mib", type=int, default=4096)


@dataclass
class Partitions:
    """The canonical rows of all files in a folder (`engine.in_place.Rows`)."""

    folder: Path
    number: int
    people: int

    @property
    def schema(self) -> pa.Schema:
        """The schema of the canonical rows."""
        return declared_schema(SCHEMA)

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the persons with integer identifiers from `first` to `last`."""
        people = None if (first, last) == EVERYBODY else (first, last)
        for path in sorted(self.folder.glob("*.parquet")):
            yield from source_rows(path, {}, SCHEMA, KEY, Tally(), people=people)


@dataclass(frozen=True)
class Cost:
    """Processor time of a step in seconds, its largest memory in bytes, and its counts."""

    seconds: float
    memory: int
    counts: Any = None


def run(options: argparse.Namespace) -> None:
    """Print a line for each step of writing and counting. Raises ValueError if counts differ."""
    with tempfile.TemporaryDirectory(prefix="dpgeo-scale-") as name:
        folder = Path(name)
        _measured(partial(_invent, folder, options.rows, options.people, options.parts))
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        print(
            f"{options.rows:,} rows, {options.people:,} persons, {options.parts} files, {size:,} B"
        )
        rows = Partitions(folder, options.rows, options.people)
        gathered = folder / "gathered"
        gathered.mkdir()
        single = gathered / "rows.parquet"
        _say("one canonical file", _measured(partial(write_rows, rows, single)), options.rows)
        equal = True
        for counting in [Counting(options.counting)] if options.counting else Counting:
            memory = options.memory_mib << 20
            count = partial(_count, rows, counting, memory)
            alone = _say(f"{counting}, that file", _measured(partial(count, single)), options.rows)
            here = _say(f"{counting}, in place", _measured(count), options.rows)
            times, memories = here.seconds / alone.seconds, here.memory / alone.memory
            print(f"  in place beside that file: time x {times:.2f}, memory x {memories:.2f}")
            shards = [
                _measured(partial(count, None, shard, options.shards))
                for shard in range(options.measured or options.shards)
            ]
            for number, shard in enumerate(shards):
                _say(f"{counting}, shard {number}", shard, options.rows)
            equal &= np.array_equal(alone.counts, here.counts)
            if len(shards) == options.shards:
                added = np.sum([each.counts for each in shards], axis=0)
                equal &= np.array_equal(alone.counts, added)
    if not equal:
        raise ValueError("The counts differ.")
    print("All counts are equal.")


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


def _count(
    rows: Partitions,
    counting: Counting,
    memory: int,
    single: Path | None = None,
    shard: int | None = None,
    shards: int = 1,
) -> NDArray[np.int64]:
    """Return the counts of all cells, from the file `single` or from the folder in place.

    With a `shard`, only the persons of this shard of the folder are counted.
    """
    settings: dict[str, Any] = {
        "domain": Domain(AREA, {}),
        "unit": Unit.PERSON,
        "counting": counting,
        "bound": BOUND,
        "salt": SALT,
        "threads": 1,
        "memory_bytes": memory,
    }
    if single is not None:
        return DuckDBView(single, **settings).histogram(GRID)._read_by_meter()
    if shard is None:
        return InPlaceView(rows, **settings).histogram(GRID)._read_by_meter()
    settings["sampling"] = Sampling(heap=counting is Counting.VISITS, passes=shards)
    worker = InPlaceView(rows, **settings)

    def ask(question: Question) -> Iterator[dict[str, NDArray[np.int64]]]:
        yield worker.answer(question, shard)

    division = Division(shards, ask)
    return InPlaceView(rows, division=division, **settings).histogram(GRID)._read_by_meter()


def _measured(step: Callable[[], NDArray[np.int64] | None]) -> Cost:
    """Write or count in a new process; return its processor time, its memory and its counts."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_timed, step).result()


def _timed(step: Callable[[], NDArray[np.int64] | None]) -> Cost:
    began = time.process_time()
    found = step()
    seconds = time.process_time() - began
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Cost(seconds, largest * (1 if sys.platform == "darwin" else 1024), found)


def _say(what: str, cost: Cost, rows: int) -> Cost:
    each = 1e6 * cost.seconds / rows
    print(f"{what:28} {cost.seconds:8.1f} s  {each:6.2f} us a row  {cost.memory >> 20:6} MiB")
    sys.stdout.flush()
    return cost
