"""Time and memory of flows between many zones, from the canonical file to the release's files.

The city is invented: zones are squares, and each person lives in one and travels from there to a
few others. `seconds` is the processor time of all threads, and `peak_mb` the largest memory of the
process that counts, measures and writes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from benchmarks import trips
from benchmarks.report import report
from dpgeo.artefacts.codec import encode
from dpgeo.artefacts.files import build_files
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.released import FlowsRelease
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.mechanisms import flows
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.layers.flows import FLOWS_NAME
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.zones import Zones

SALT = bytes(16)

# A trip starts near the person's home and ends at one of four random places that are the person's
# own; half of the trips end at the same one.
_WITH_DESTINATIONS = """
COPY (
    SELECT *,
        $west + $width * (hash(person_high, least(time % 6, 3)) % 1000003) / 1000003
            AS destination_x,
        $south + $height * (hash(person_low, least(time % 6, 3)) % 1000003) / 1000003
            AS destination_y
    FROM read_parquet($source)
) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `flows` to the command line."""
    parser = subcommands.add_parser("flows", help=__doc__.partition("\n")[0])
    parser.add_argument("--trips", type=int, default=10_000_000)
    parser.add_argument("--people", type=int, default=500_000)
    parser.add_argument("--zones", type=int, default=1_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--bound", type=int, default=5)
    parser.add_argument("--slices", choices=[flows.ALL_TOGETHER, *TIME_SLICES])
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line of time and memory for each stage of a release, and a line of its sizes."""
    with tempfile.TemporaryDirectory(prefix="dpgeo-benchmark-") as folder:
        write(Path(folder) / "trips.parquet", rows=options.trips, people=options.people)
        # Use a separate process, so that its peak memory does not include generating the trips.
        job = multiprocessing.get_context("spawn").Process(
            target=release, args=(Path(folder), options)
        )
        job.start()
        job.join()
        if job.exitcode:
            raise RuntimeError("The job failed.")
        for line in json.loads((Path(folder) / "measured.json").read_text()):
            report(line, options.json)


def write(path: Path, *, rows: int, people: int) -> None:
    """Write a canonical file of invented trips with destinations."""
    source = path.with_name("rows.parquet")
    trips.write(source, rows=rows, people=people)
    west, south, east, north = trips.AREA.mercator_bounds
    with trips.connected() as connection:
        connection.execute(
            _WITH_DESTINATIONS.replace("{path}", str(path)),
            {
                "source": str(source),
                "west": west,
                "width": east - west,
                "south": south,
                "height": north - south,
            },
        )
    source.unlink()


def squares(number: int) -> Zones:
    """Return `number` rectangular zones that cover the area in rows of equal height.

    The zones of a row have equal widths; some rows have one zone more than others.
    """
    west, south, east, north = trips.AREA.bounds
    rows = int(np.sqrt(number))
    ends = np.linspace(0, number, rows + 1).astype(int)
    boxes = []
    for row in range(rows):
        columns = int(ends[row + 1] - ends[row])
        x = np.linspace(west, east, columns + 1)
        y = south + (north - south) * np.array([row, row + 1]) / rows
        boxes += shapely.box(x[:-1], y[0], x[1:], y[1]).tolist()
    keys = tuple(map(str, range(number)))
    return Zones(keys=keys, names=keys, shapes=np.array(boxes))


def release(folder: Path, options: argparse.Namespace) -> None:
    """Release the flows of the file in `folder`, and write time and memory to measured.json."""
    lines: list[dict[str, str | float]] = []

    def told(stage: str, wall: float, processor: float) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        facts = {"wall_seconds": time.perf_counter() - wall}
        lines.append(
            {"stage": stage, "seconds": time.process_time() - processor, **facts, "peak_mb": peak}
        )

    zones = squares(options.zones)
    view = DuckDBView(
        folder / "trips.parquet",
        domain=Domain(trips.AREA, {"zones": zones}, "UTC", destinations=True),
        unit=Unit.PERSON,
        counting=Counting.VISITS,
        bound=options.bound,
        salt=SALT,
        folder=folder,
    )
    params = flows.Params(zones="zones", slices=options.slices or flows.ALL_TOGETHER)
    began = time.perf_counter(), time.process_time()
    released = run(flows.MECHANISM, view, params, Fraction(options.epsilon), SystemEntropy(), {})
    told("counted and measured", *began)
    began = time.perf_counter(), time.process_time()
    blob = encode(released)
    told("encoded", *began)
    began = time.perf_counter(), time.process_time()
    files = build_files(released, folder)
    told(f"{len(files)} files written", *began)
    content = released.content
    assert isinstance(content, FlowsRelease)
    drawn = [len(layer) for layer in layers(released) if layer.name.startswith(FLOWS_NAME)]
    facts = {"pairs": content.pairs.size, "threshold": content.threshold, "listed": sum(drawn)}
    lines.append({"stage": "released", **facts, "blob_mb": len(blob) / 1e6})
    (folder / "measured.json").write_text(json.dumps(lines))
