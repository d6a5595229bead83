"""Processor time and memory of CSV and GeoPackage files made on request, as maps grow.

Each file is written from the bytes of a stored release, in a process of its own. One process
("none") only decodes the release and lists its files, to show the cost of that part. The queue, the
database and the compressed copy are left out. Counts are those of an invented city.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import growth, speed, trips
from benchmarks.report import report
from dpgeo.artefacts.codec import decode, encode
from dpgeo.artefacts.files import planned_files
from dpgeo.core.parameters import parse_parameters
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run

FILES = ("", "cells.csv", "cells.gpkg")


def add_to(subcommands: Any) -> None:
    """Add the subcommand `large-files` to the command line."""
    parser = subcommands.add_parser("large-files", help=__doc__)
    parser.add_argument("--cells", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--folder", help="where files are written, 250 bytes a cell")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each size and file; a file with too many features has no line."""
    for cells in options.cells:
        with tempfile.TemporaryDirectory(prefix="dpgeo-files-", dir=options.folder) as name:
            folder = Path(name)
            growth.measured(partial(_release, folder / "release", cells))
            for file in FILES:
                seconds, memory = growth.measured(partial(_write, folder, file))
                if file and not (folder / file).exists():
                    continue
                line: dict[str, str | float] = {
                    "features": cells * cells,
                    "file": file or "none",
                    "processor_s": seconds,
                    "memory_mib": memory,
                    "load": os.getloadavg()[0],
                }
                if file:
                    line["megabytes"] = (folder / file).stat().st_size / 1e6
                report(line, options.json)


def _release(path: Path, cells: int) -> None:
    mechanism = find_mechanism("uniform-grid")
    params = parse_parameters(mechanism.params, {"cells": cells})
    view = speed.Counted(counts=trips.city(cells, people=10_000_000))
    about = {"title": "Trips"}
    path.write_bytes(encode(run(mechanism, view, params, Fraction(1), SystemEntropy(), about)))


def _write(folder: Path, name: str) -> None:
    for planned in planned_files(decode((folder / "release").read_bytes())):
        if planned.name == name:
            planned.write(folder / name)
