"""Errors of weekly maps under each protection of a series, and of sums over weeks by a tree.

Counting, bounding and noise are done by dpgeo's own code: a period is counted by
`engine.series_view` or `engine.duckdb_view` and measured by the uniform grid. The bounding box of
the file's rows is stretched to a square, so that there are as many rows of cells as columns.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import report
from dpgeo.core.domain import Domain
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.released import GridRelease
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.engine.series_view import Allowances, SeriesView
from dpgeo.mechanisms import uniform_grid
from dpgeo.postprocess.periods import smoothed
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy

Floats = NDArray[np.float64]

WEEK_MINUTES = 7 * 24 * 60

AREA = StudyArea.from_bounds(0.0, -0.15, 0.3, 0.15)
"""A square at the equator, to which the bounding box of the file's rows is stretched."""

TOP = 10

FEWEST = 50
"""Smallest number of people in a week whose busiest cells are compared."""

LENGTHS = (26, 52, 104, 365)
"""Numbers of periods for which the tree is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How a series is protected.

    Without an `allowance`, contributions are bounded in every week separately.
    """

    name: str
    each: int
    epsilon: Fraction
    allowance: int = 0

    @property
    def scale(self) -> float:
        """Scale of the noise of each count."""
        return float((self.allowance or self.each) / self.epsilon)


@dataclass(frozen=True, slots=True)
class Weeks:
    """Canonical files of the weeks, and the true counts (weeks, cells, cells) of people."""

    paths: Sequence[Path]
    truth: Floats


def add_to(subcommands: Any) -> None:
    """Add the subcommand `series` to the command line."""
    parser = subcommands.add_parser("series", help=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="Parquet with columns user, minute, lat and lon"
    )
    parser.add_argument(
        "--box", nargs=4, type=float, default=(-74.05, 40.60, -73.75, 40.90), metavar="DEGREES"
    )
    parser.add_argument("--cells", type=int, default=16)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each protection, and one for each number of periods of the tree."""
    epsilon = parse_epsilon(options.epsilon)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weeks = read(options.data, tuple(options.box), options.cells, folder)
        report({"scheme": "zeros", "rmse": rmse(0 * weeks.truth, weeks.truth)}, options.json)
        for scheme in schemes(epsilon, len(weeks.paths)):
            found = [
                errors(draw(scheme, weeks, options.cells, folder, seed), scheme, weeks.truth)
                for seed in range(options.trials)
            ]
            figures = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
            report({"scheme": scheme.name, "scale": scheme.scale, **figures}, options.json)
    for periods in LENGTHS:
        report({"periods": periods, **tree_variances(periods)}, options.json)


def schemes(epsilon: Fraction, weeks: int) -> Iterator[Scheme]:
    """Yield the protections of series and, for comparison, epsilon divided among all weeks."""
    yield Scheme(name="epsilon divided among weeks", each=1, epsilon=epsilon / weeks)
    for allowance in (20, 40):
        name = f"person over the series, L = {allowance}"
        yield Scheme(name=name, each=2, allowance=allowance, epsilon=epsilon)
    yield Scheme(name="any 4 weeks in a row", each=2, epsilon=epsilon / 4)
    yield Scheme(name="any one week", each=2, epsilon=epsilon)


def read(path: Path, box: tuple[float, ...], cells: int, folder: Path) -> Weeks:
    """Write a canonical file for each week, with rows inside the box (west, south, east, north)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["user", "minute", "lat", "lon"])
    user, minute, lat, lon = (np.asarray(table[name]) for name in table.column_names)
    west, south, east, north = box
    inside = (lon > west) & (lon < east) & (lat > south) & (lat < north)
    frame = Grid.over(AREA, cells)
    x = frame.west + (lon - west) / (east - west) * frame.cell * cells
    y = frame.north - (north - lat) / (north - south) * frame.cell * cells
    week = minute // WEEK_MINUTES
    paths, truth = [], []
    for number in range(int(week[inside].max()) + 1):
        rows = inside & (week == number)
        person = pa.array(user[rows].astype(np.uint64))
        time = pa.array(minute[rows].astype(np.int64) * 60)
        columns = [person, person, pa.array(x[rows]), pa.array(y[rows]), time]
        names = ["person_high", "person_low", "x", "y", "time"]
        paths.append(folder / f"week{number}.parquet")
        pq.write_table(pa.table(columns, names=names), paths[-1])
        pairs = np.unique(np.stack([user[rows], frame.locate(x[rows], y[rows])]), axis=1)
        counts = np.bincount(pairs[1].astype(np.int64), minlength=frame.size)
        truth.append(counts.reshape(frame.shape).astype(np.float64))
    return Weeks(paths, np.array(truth))


def draw(scheme: Scheme, weeks: Weeks, cells: int, folder: Path, seed: int) -> Floats:
    """Return the noisy counts (weeks, cells, cells) of one series."""
    salt = np.random.default_rng(seed).bytes(16)
    params, drawn = uniform_grid.Params(cells=cells), list[Floats]()
    before: Path | None = None
    entropy = SeededEntropy(seed)
    for path in weeks.paths:
        settings: dict[str, Any] = {
            "domain": Domain(AREA),
            "unit": Unit.PERSON,
            "counting": Counting.PEOPLE,
            "bound": scheme.allowance or scheme.each,
            "salt": salt,
            "folder": folder,
        }
        after = folder / f"used{len(drawn) % 2}.parquet"
        view: PrivateView = DuckDBView(path, **settings)
        if scheme.allowance:
            allowances = Allowances(
                each=scheme.each,
                before=before,
                erased=(),
                keep=partial(_copy, after),
            )
            view, before = SeriesView(path, allowances=allowances, **settings), after
        released = run(uniform_grid.MECHANISM, view, params, scheme.epsilon, entropy, {})
        content = released.content
        if not isinstance(content, GridRelease):
            raise TypeError(type(content))
        drawn.append(content.counts.astype(np.float64))
    return np.array(drawn)


def _copy(target: Path, used: Path) -> None:
    shutil.copy(used, target)


def errors(drawn: Floats, scheme: Scheme, truth: Floats) -> dict[str, float]:
    """Return the errors of the maps as drawn, and smoothed with the maps before them."""
    smooth, _ = smoothed(drawn, 2 * scheme.scale**2)
    return {
        "rmse": rmse(drawn, truth),
        "rmse smoothed": rmse(smooth, truth),
        f"top {TOP}": busiest(drawn, truth),
        f"top {TOP} smoothed": busiest(smooth, truth),
    }


def rmse(drawn: Floats, truth: Floats) -> float:
    """Return the root mean square error of a cell."""
    return float(np.sqrt(np.mean((drawn - truth) ** 2)))


def busiest(drawn: Floats, truth: Floats) -> float:
    """Return the mean share of each week's busiest cells that are among those drawn."""
    shares = []
    for one, true in zip(drawn, truth, strict=True):
        if true.sum() > FEWEST:
            best = set(np.argsort(true, axis=None)[-TOP:])
            shares.append(len(best & set(np.argsort(one, axis=None)[-TOP:])) / TOP)
    return float(np.mean(shares))


def tree_variances(periods: int) -> dict[str, float]:
    """Return expected variances at epsilon 1, for a person who counts once.

    "flat" has one count per period. "tree" is the binary tree (p-sums) with least squares: a person
    is in one node of each level, so the noise scale of each count is the number of levels. The
    variance for ranges is the mean over all runs of two or more periods.
    """
    rows, width, levels = [], 1, 0
    while True:
        for start in range(0, periods, width):
            row = np.zeros(periods)
            row[start : start + width] = 1
            rows.append(row)
        levels += 1
        if width >= periods:
            break
        width *= 2
    nodes = np.array(rows)
    covariance = np.linalg.inv(nodes.T @ nodes) * 2 * levels**2
    sums = np.zeros((periods + 1, periods + 1))
    sums[1:, 1:] = covariance.cumsum(0).cumsum(1)
    first, last = np.triu_indices(periods + 1, 2)
    ranges = sums[last, last] + sums[first, first] - 2 * sums[first, last]
    return {
        "flat, a period": 2.0,
        "tree, a period": float(np.mean(np.diag(covariance))),
        "flat, a range": float(2 * np.mean(last - first)),
        "tree, a range": float(np.mean(ranges)),
    }
