"""Speed of the slowest parts of dpgeo, compared with what people would use instead."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from benchmarks import trips, uploads
from benchmarks.evaluation.arrays import CountsView
from benchmarks.report import report
from benchmarks.timing import Line, best_of, compared
from dpgeo.artefacts.codec import decode, encode
from dpgeo.artefacts.files import build_files
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.engine.canonical_file import MEMORY_BYTES
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.postprocess.kdtree import Rule, grow_kdtree
from dpgeo.privacy import gaussian_sampler
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.sampler import sample
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

CELLS = 1024
ZONES = 10_000
BOUND = 10
SALT = bytes(16)
GAUSSIAN_SCALES = (1, 100, 10_000)


def add_to(subcommands: Any) -> None:
    """Add the subcommand `speed` to the command line."""
    parser = subcommands.add_parser("speed", help=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the generated file")
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--draws", type=int, default=10_000_000, help="draws of noise")
    parser.add_argument("--large", type=int, default=4096, help="cells a side for DPCube")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each part of dpgeo whose time is compared."""
    for line in (noise(options), *gaussian(options), kdtree(options), dpcube(options)):
        report(line, options.json)
    with tempfile.TemporaryDirectory(prefix="dpgeo-benchmark-") as folder:
        path = Path(folder) / "trips.parquet"
        trips.write(path, rows=options.rows, people=options.people)
        for line in chain(
            uploads.ingested(path, options),
            counting(path, options),
            [zones(path, options), whole_release(path, options), published(path, options)],
        ):
            report(line, options.json)


def noise(options: argparse.Namespace) -> Line:
    """Return the time of exact discrete Laplace noise at scale 10, compared with OpenDP's.

    OpenDP draws only a fiftieth as many values, and its time is scaled up.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    law = DiscreteLaplace(Fraction(1, 10), 1)
    words = SystemEntropy().stream()
    values = [0] * max(1, options.draws // 50)
    space = (dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int))
    peer = dp.m.make_laplace(*space, scale=10.0)
    ours, reference = best_of(
        options.repeat,
        lambda: sample(law, options.draws, words),
        lambda: peer(values),
    )
    return compared(
        f"noise: {options.draws:,} exact discrete Laplace draws",
        ours,
        "OpenDP make_laplace, time scaled to as many draws",
        reference * options.draws / len(values),
    )


def gaussian(options: argparse.Namespace) -> Iterator[Line]:
    """Yield the times of exact discrete Gaussian noise at three scales, compared with OpenDP's.

    Both are processor time, and OpenDP draws only one value in five hundred.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    words = SystemEntropy().stream()
    values = [0] * max(1, options.draws // 500)
    space = (dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float))
    for scale in GAUSSIAN_SCALES:
        law = DiscreteGaussian(Fraction(1, 2 * scale**2), 1)
        # The first draw makes a table that later draws reuse.
        gaussian_sampler.sample(law, 1, words)
        peer = dp.m.make_gaussian(*space, scale=float(scale))
        ours, reference = best_of(
            options.repeat,
            lambda law=law: gaussian_sampler.sample(law, options.draws, words),  # type: ignore[misc]
            lambda peer=peer: peer(values),  # type: ignore[misc]
            clock=time.process_time,
        )
        yield compared(
            f"noise: {options.draws:,} exact discrete Gaussian draws at scale {scale:,}, "
            f"{options.draws / ours / 1e6:.1f} million a second",
            ours,
            "OpenDP make_gaussian, time scaled to as many draws",
            reference * options.draws / len(values),
        )


def kdtree(options: argparse.Namespace) -> Line:
    """Return the time to grow a kd-tree on an invented city's noisy cells.

    The reference is the time to draw the cells' noise.
    """
    law = DiscreteLaplace(Fraction(1, 10), 1)
    words = SystemEntropy().stream()
    cells = trips.city(CELLS, people=options.rows)
    noisy = cells + sample(law, cells.size, words).reshape(cells.shape)
    inside = np.ones(cells.shape, dtype=np.bool_)
    rule = Rule(cell_variance=law.variance, total_variance=law.variance)
    ours, reference = best_of(
        options.repeat,
        lambda: grow_kdtree(noisy, inside, rule),
        lambda: sample(law, cells.size, words),
    )
    return compared(
        f"kd-tree: {CELLS} x {CELLS} noisy cells", ours, "drawing the noise of the cells", reference
    )


def dpcube(options: argparse.Namespace) -> Line:
    """Return the time of DPCube on many cells, from counts to release.

    The reference is the time to draw one noise value for each cell.
    """
    large = options.large
    view = Counted(counts=trips.city(large, people=options.rows))
    mechanism = find_mechanism("dpcube")
    params = parse_parameters(mechanism.params, {"cells": large})
    law = DiscreteLaplace(Fraction(1, 10), 1)
    words = SystemEntropy().stream()
    ours, reference = best_of(
        options.repeat,
        lambda: run(mechanism, view, params, law.epsilon, SystemEntropy(), {}),
        lambda: sample(law, large * large, words),
    )
    return compared(
        f"dpcube: {large} x {large} counts of {options.rows:,} people to the release",
        ours,
        "drawing the noise of as many cells",
        reference,
    )


class Counted(CountsView):
    """Data for a mechanism, with counts computed beforehand, so that counting is not timed."""

    def histogram(self, grid: Grid) -> PrivateCounts:
        return PrivateCounts(self.counts, sensitivity=1)


def counting(path: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Yield the times of counting with a contribution bound, compared with unbounded counts.

    DuckDB computes both from all rows of the same file. Times are the processor's.
    """
    grid = Grid.over(trips.AREA, CELLS)
    for counted in Counting:
        view = view_of(path, counted)
        people = counted is Counting.PEOPLE
        unbounded = trips.distinct_counts if people else trips.plain_counts
        ours, reference = best_of(
            options.repeat,
            lambda view=view: view.histogram(grid),  # type: ignore[misc]
            lambda unbounded=unbounded: unbounded(path, grid),  # type: ignore[misc]
            clock=time.process_time,
        )
        yield compared(
            f"counts: {counted.value}, {options.rows:,} rows, {CELLS} x {CELLS} cells, at most "
            f"{BOUND} a person",
            ours,
            "DuckDB count(DISTINCT person) by cell" if people else "DuckDB count(*) by cell",
            reference,
        )


def zones(path: Path, options: argparse.Namespace) -> Line:
    """Return the time to count 10,000 irregular zones, compared with cells, in processor time."""
    random = np.random.default_rng(1)
    west, south, east, north = trips.AREA.bounds
    seeds = random.uniform((west, south), (east, north), (ZONES, 2))
    frame = shapely.box(west, south, east, north)
    parts = shapely.get_parts(shapely.voronoi_polygons(shapely.multipoints(seeds), extend_to=frame))
    keys = tuple(map(str, range(ZONES)))
    zones = Zones(keys=keys, names=keys, shapes=shapely.intersection(parts, frame))
    grid = Grid.over(trips.AREA, CELLS)
    ours, reference = best_of(
        options.repeat,
        lambda: view_of(path, Counting.VISITS).zone_counts(zones),
        lambda: view_of(path, Counting.VISITS).histogram(grid),
        clock=time.process_time,
    )
    return compared(
        f"zones: {options.rows:,} rows in {ZONES:,} zones, in processor time",
        ours,
        f"the count of {CELLS} x {CELLS} cells",
        reference,
    )


def whole_release(path: Path, options: argparse.Namespace) -> Line:
    """Return the time from canonical file to blob, compared with a query that bounds and counts."""
    grid = Grid.over(trips.AREA, CELLS)
    mechanism = find_mechanism("uniform-grid")
    params = parse_parameters(mechanism.params, {"cells": CELLS})
    view = view_of(path, Counting.VISITS)
    ours, reference = best_of(
        options.repeat,
        lambda: encode(run(mechanism, view, params, Fraction(1), SystemEntropy(), {})),
        lambda: trips.bounded_counts(path, grid, BOUND),
    )
    return compared(
        f"release: {options.rows:,} rows to the bytes of a uniform grid of {CELLS} x {CELLS}",
        ours,
        "DuckDB's bounded query alone, without noise",
        reference,
    )


def published(path: Path, options: argparse.Namespace) -> Line:
    """Return the time of a release from canonical file to all files that it is published with.

    The reference is the time that counting takes. Both are processor time, since the engine counts
    on all cores and files are written on one. Not measured are writing to the database, moving
    files between storages, and files that are made when somebody first asks for them.
    """
    grid = Grid.over(trips.AREA, CELLS)
    mechanism = find_mechanism("uniform-grid")
    params = parse_parameters(mechanism.params, {"cells": CELLS})
    view = view_of(path, Counting.VISITS)
    sizes: list[int] = []

    def publish() -> None:
        blob = encode(
            run(mechanism, view, params, Fraction(1), SystemEntropy(), {"title": "Trips"})
        )
        with tempfile.TemporaryDirectory(prefix="dpgeo-benchmark-") as folder:
            built = build_files(decode(blob), Path(folder), lambda file: file.at_once)
            stored = [file.path.read_bytes() for file in built]
            packed = [
                gzip.compress(content, 6)
                for file, content in zip(built, stored, strict=True)
                if not file.name.endswith((".parquet", ".pmtiles", ".png"))
            ]
            for content in stored:
                hashlib.sha256(content).hexdigest()
        sizes.append(sum(map(len, (blob, *stored, *packed))))

    ours, reference = best_of(
        options.repeat, publish, lambda: view.histogram(grid), clock=time.process_time
    )
    return compared(
        f"published: {options.rows:,} rows to the files of a uniform grid of {CELLS} x {CELLS}, "
        f"{min(sizes) / 1e6:.0f} MB",
        ours,
        "its count alone, both in processor time",
        reference,
    )


def view_of(path: Path, counting: Counting, memory_bytes: int = MEMORY_BYTES) -> DuckDBView:
    """Return generated people for a mechanism to count, each in at most BOUND cells or visits."""
    return DuckDBView(
        path,
        domain=Domain(trips.AREA),
        unit=Unit.PERSON,
        counting=counting,
        bound=BOUND,
        salt=SALT,
        memory_bytes=memory_bytes,
    )
