"""Processor time and memory of other libraries on the same work: bounded, noisy counts of cells.

The task is to count visits by cell, from invented rows, with epsilon 1 and at most 10 rows of each
person. Peers get the number of each row's cell, and whole numbers as persons; dpgeo finds cells
from the positions in its canonical file. Reading an upload and writing the files of a release are
left out. A peer that is far slower gets fewer rows, and fewer cells in the same proportion, and the
costs per row are compared. The quality of noise and samples is not compared: peers draw in floating
point, or from other distributions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import growth, speed, trips
from benchmarks.report import report
from dpgeo.core.guarantees import Counting
from dpgeo.core.parameters import parse_parameters
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.grid import Grid

INSTALL = {
    "diffprivlib": "diffprivlib 'scikit-learn<1.8'",
    "opendp-polars": "opendp[polars]",
    "pipelinedp": "pipeline-dp",
}
"""What to install for each peer, in an environment of its own with PyArrow and NumPy."""

FEWER = {"diffprivlib": 1, "opendp-polars": 1, "pipelinedp": 16}
"""Factor by which a peer's rows and cells are made fewer; above 1 for a very slow peer."""


_NUMBERED = """
COPY (
    SELECT (person_high // 2)::BIGINT AS person,
        (least(floor(($north - y) / $cell), {last}) * {cells}
            + least(floor((x - $west) / $cell), {last}))::BIGINT AS cell
    FROM read_parquet('{source}') WHERE person_low % {fewer} = 0
) TO '{target}' (FORMAT parquet)
"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `peer-speed` to the command line."""
    parser = subcommands.add_parser("peer-speed", help=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--cells", type=int, default=512, help="cells a side")
    parser.add_argument("--peer", action="append", choices=INSTALL, help="only this; repeatable")
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter with the peers' packages"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for dpgeo and each peer; `ratio` is the peer's time per row, divided by
    dpgeo's.
    """
    with tempfile.TemporaryDirectory(prefix="dpgeo-peers-") as name:
        folder = Path(name)
        path = folder / "trips.parquet"
        trips.write(path, rows=options.rows, people=options.people)
        seconds, memory = growth.measured(partial(_release, path, options.cells))
        line: dict[str, str | float] = {
            "name": "dpgeo",
            "rows": options.rows,
            "processor_s": seconds,
            "memory_mib": memory,
            "load": os.getloadavg()[0],
        }
        report(line, options.json)
        for peer in options.peer or INSTALL:
            fewer = FEWER[peer]
            cells = max(1, options.cells // round(fewer**0.5))
            source = folder / f"{peer}.parquet"
            rows = _numbered(path, source, cells, fewer)
            line = {"name": peer, "rows": rows} | _run(peer, source, cells, options.python)
            if "processor_s" in line:
                line["ratio"] = float(line["processor_s"]) / rows / (seconds / options.rows)
            report(line, options.json)


def _release(path: Path, cells: int) -> None:
    """Release a canonical file's visits as a uniform grid: the work of dpgeo that is timed."""
    mechanism = find_mechanism("uniform-grid")
    params = parse_parameters(mechanism.params, {"cells": cells})
    view = speed.view_of(path, Counting.VISITS)
    run(mechanism, view, params, Fraction(1), SystemEntropy(), {})


def _numbered(path: Path, target: Path, cells: int, fewer: int) -> int:
    """Write rows with the numbers of their persons and cells; return the number of rows.

    Only one in `fewer` persons is kept, with all rows of that person.
    """
    import pyarrow.parquet as pq

    grid = Grid.over(trips.AREA, cells)
    query = _NUMBERED.format(source=path, target=target, last=cells - 1, cells=cells, fewer=fewer)
    parameters = {"north": grid.north, "west": grid.west, "cell": grid.cell}
    with trips.connected() as connection:
        connection.execute(query, parameters)
    return int(pq.read_metadata(target).num_rows)


def _run(peer: str, path: Path, cells: int, python: str) -> dict[str, str | float]:
    """Return a library's processor time and memory, or what to install if it cannot run."""
    script = Path(__file__).with_name("peer_work.py")
    done = subprocess.run(  # noqa: S603 - this package's own program
        [python, str(script), peer, str(path), str(cells), str(speed.BOUND)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"failed": last[0], "install": f"pip install {INSTALL[peer]}"}
    cost: dict[str, str | float] = json.loads(done.stdout)
    return {**cost, "load": os.getloadavg()[0]}
