"""Processor time and memory from an upload to counts, as the number of rows grows.

The transfer and the preview of an upload, noise and files are left out. Rows are invented trips;
one person has fifty. Each step runs in a process of its own, with all processors. The exponent of a
line is computed from this size and the one before; 1 means that time grows in proportion to rows.
The last column is the time divided by the time that proportional growth would give.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import speed, trips, uploads
from benchmarks.report import report
from dpgeo.core.guarantees import Counting
from dpgeo.spatial.grid import Grid

ROWS_PER_PERSON = 50

CSV = "CSV to canonical file"

Cost = tuple[float, int]
"""Processor time in seconds and largest memory in MiB."""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `growth` to the command line."""
    parser = subcommands.add_parser("growth", help=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--folder", help="where files are written, 50 bytes a row")
    parser.add_argument("--csv", action="store_true", help="also read CSV, 60 bytes a row")
    parser.add_argument("--memory-mib", type=int, default=1024, help="of DuckDB")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each number of rows and each step: writing, reading CSV, counting."""
    before: dict[str, tuple[int, float]] = {}
    for rows in options.rows:
        with tempfile.TemporaryDirectory(prefix="dpgeo-growth-", dir=options.folder) as name:
            path = Path(name) / "trips.parquet"
            memory = options.memory_mib << 20
            steps: dict[str, Callable[[], object]] = {
                "canonical file": partial(
                    trips.write, path, rows=rows, people=rows // ROWS_PER_PERSON
                ),
                **({CSV: partial(_ingest, path)} if options.csv else {}),
                **{
                    f"counts of {counting.value}": partial(_count, path, counting, memory)
                    for counting in Counting
                },
            }
            for what, step in steps.items():
                if what == CSV:
                    uploads.write_csv(path, path.with_suffix(".csv"), rows // ROWS_PER_PERSON)
                seconds, mib = measured(step)
                line: dict[str, str | float] = {
                    "what": what,
                    "rows": rows,
                    "processor_s": seconds,
                    "memory_mib": mib,
                }
                line["load"] = os.getloadavg()[0]
                if what in before:
                    fewer, less = before[what]
                    line["exponent"] = math.log(seconds / less) / math.log(rows / fewer)
                    line["of_linear"] = seconds / less * fewer / rows
                before[what] = rows, seconds
                report(line, options.json)


def _ingest(path: Path) -> None:
    table = path.with_suffix(".csv")
    uploads.ingest_csv(table, path.parent)
    table.unlink()


def _count(path: Path, counting: Counting, memory: int) -> None:
    speed.view_of(path, counting, memory).histogram(Grid.over(trips.AREA, speed.CELLS))


def measured(step: Callable[[], object]) -> Cost:
    """Write, read or count in a new process; return the processor time and the largest memory."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_timed, step).result()


def _timed(step: Callable[[], object]) -> Cost:
    began = time.process_time()
    step()
    seconds = time.process_time() - began
    return seconds, _largest_memory()


def _largest_memory() -> int:
    """Return the largest memory of this process in MiB.

    On Linux `ru_maxrss` would include the memory of the process that started this one, of which
    this process was a copy at first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
