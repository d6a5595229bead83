"""Errors of weekly maps under each protection of a series, and of sums over weeks by a tree.

Counting, bounding and noise are done by dpgeo's own code: a period is counted by
`engine.series_view` or `engine.duckdb_view` and measured by one of the mechanisms that can draw a
series. The bounding box of the file's rows is stretched to a square, so that there are as many rows
of cells as columns.

Two baselines are computed here, from counts bounded by the product. Absorbed budgets: half of
epsilon is spent on asking each week whether the map has changed since the last one that was
published, and weeks that are skipped leave their share of the other half to the next publication
(algorithm BA of Kellaris, Papadopoulos, Xiao and Papadias 2014). p-sums: a binary tree over the
weeks, either with the fewest nodes for each sum (Chan, Shi and Song 2011) or with least squares
(Hay et al. 2010).
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from dpgeo.core.released import SparseRelease
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.engine.series_view import Allowances, SeriesView
from dpgeo.mechanisms import flows, places, sparse_grid, uniform_grid, zones
from dpgeo.postprocess.flow_regions import square_zones
from dpgeo.postprocess.periods import smoothed
from dpgeo.privacy.mechanism import Mechanism, run
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places
from dpgeo.spatial.projection import to_degrees
from tests.randomness import SeededEntropy

Floats = NDArray[np.float64]

WEEK_MINUTES = 7 * 24 * 60

AREA = StudyArea.from_bounds(0.0, -0.15, 0.3, 0.15)
"""A square at the equator, to which the bounding box of the file's rows is stretched."""

TOP = 10

MIN_PEOPLE = 50
"""Weeks with no more people than this are left out when the busiest cells are compared."""

LENGTHS = (26, 52, 104, 365)
"""Lengths of series, in periods, for which the variances of sums over periods are compared."""

RANGES = 400
"""Number of sums that are compared, each over a box of cells and a run of weeks."""

EXACT = 500
"""At this rate of the noise (epsilon over sensitivity), each number's noise is 0 except with a
probability below e^-90.
"""

REACH = 200
"""Metres in the stretched square within which a row belongs to the nearest venue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A way to protect a series: contribution bounds, and epsilon for their noise.

    A person has at most `each` contributions to a map and, unless `allowance` is 0, at most
    `allowance` to the whole series. With 0, contributions are bounded in every week separately.
    """

    name: str
    each: int
    epsilon: Fraction
    allowance: int = 0

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise of each count, if all counts get the whole epsilon."""
        return float((self.allowance or self.each) / self.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfMap:
    """A mechanism that draws the weekly maps, and how to read the counts (n,) from its content.

    `shape` is the shape of a map's counts if it counts in the cells of a grid, else (). `share` is
    the share of epsilon with which these counts are measured.
    """

    name: str
    mechanism: Mechanism
    params: Any
    numbers: Callable[[Any], NDArray[np.int64]] = lambda content: content.counts.ravel()
    counting: Counting = Counting.PEOPLE
    layers: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Weeks:
    """Canonical files of the weeks, and the true counts (weeks, cells, cells) of people.

    `venues` are the places named by the file, None if it names none.
    """

    paths: Sequence[Path]
    truth: Floats
    venues: Places | None = None


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
    parser.add_argument("--kind", default="", help="only kinds of maps whose names begin so")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each kind of map and protection, and one for each number in LENGTHS."""
    epsilon = parse_epsilon(options.epsilon)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weeks = read(options.data, tuple(options.box), options.cells, folder)
        for kind in kinds(options.cells, weeks.venues):
            if not kind.name.startswith(options.kind):
                continue
            truth = weeks.truth if kind.shape else true_counts(kind, weeks, folder)
            without = rmse(0 * truth, truth)
            report({"kind": kind.name, "scheme": "zeros", "rmse": without}, options.json)
            for scheme in schemes(epsilon, len(weeks.paths)):
                found = [
                    errors(
                        draw(scheme, weeks, kind, folder, seed), scheme.scale / kind.share, truth
                    )
                    for seed in range(options.trials)
                ]
                show(kind.name, scheme, found, options.json)
        grid = grid_of(options.cells)
        if grid.name.startswith(options.kind):
            for scheme, drawn in baselines(epsilon, weeks, grid, folder, options.trials):
                found = [errors(one, scheme.scale, weeks.truth) for one in drawn]
                show(grid.name, scheme, found, options.json)
    for periods in LENGTHS:
        report({"periods": periods, **tree_variances(periods)}, options.json)


def show(kind: str, scheme: Scheme, found: Sequence[Mapping[str, float]], as_json: bool) -> None:
    """Print the means of the errors over several trials of one scheme."""
    figures = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
    report({"kind": kind, "scheme": scheme.name, "scale": scheme.scale, **figures}, as_json)


def grid_of(cells: int) -> KindOfMap:
    """Return the `KindOfMap` of uniform grids with this number of cells along each side."""
    return KindOfMap(
        name=f"uniform grid, {cells} x {cells}",
        mechanism=uniform_grid.MECHANISM,
        params=uniform_grid.Params(cells=cells),
        shape=Grid.over(AREA, cells).shape,
    )


def kinds(cells: int, venues: Places | None) -> Iterator[KindOfMap]:
    """Yield the kinds of maps that can be drawn as series."""
    yield grid_of(cells)
    squares = Grid.over(AREA, cells // 2)
    yield KindOfMap(
        name=f"zones, {squares.size} squares",
        mechanism=zones.MECHANISM,
        params=zones.Params(zones="squares"),
        layers={"squares": square_zones(squares, squares.inside(AREA).ravel())},
    )
    fine = Grid.over(AREA, 4 * cells)

    def listed(content: SparseRelease) -> NDArray[np.int64]:
        counts = np.zeros(fine.size, dtype=np.int64)
        counts[content.cells] = content.counts
        return counts

    yield KindOfMap(
        name=f"sparse grid, {4 * cells} x {4 * cells}",
        mechanism=sparse_grid.MECHANISM,
        params=sparse_grid.Params(cells=4 * cells),
        numbers=listed,
    )
    if venues is not None:
        yield KindOfMap(
            name=f"places, {len(venues.keys):,}",
            mechanism=places.MECHANISM,
            params=places.Params(places="venues", reach=REACH),
            layers={"venues": venues},
        )
    yield KindOfMap(
        name="flows, 8 x 8 squares",
        mechanism=flows.MECHANISM,
        params=flows.Params(cells=8, gap_hours=6),
        numbers=lambda content: content.pairs,
        counting=Counting.VISITS,
        share=float(flows.SHARES[flows.PAIRS]),
    )


def true_counts(kind: KindOfMap, weeks: Weeks, folder: Path) -> Floats:
    """Return the counts (weeks, n) without bounding and without noise."""
    everything = 100_000
    return exact_counts(
        Scheme(name="", each=everything, epsilon=Fraction(1)), weeks, kind, folder, 0
    )


def exact_counts(scheme: Scheme, weeks: Weeks, kind: KindOfMap, folder: Path, seed: int) -> Floats:
    """Return the counts of all weeks as `scheme` bounds them, with practically no noise."""
    epsilon = Fraction(EXACT * (scheme.allowance or scheme.each))
    return draw(dataclasses.replace(scheme, epsilon=epsilon), weeks, kind, folder, seed)


def baselines(
    epsilon: Fraction, weeks: Weeks, grid: KindOfMap, folder: Path, trials: int
) -> Iterator[tuple[Scheme, list[Floats]]]:
    """Yield schemes from papers that dpgeo does not offer, with the weekly maps of each trial."""
    levels = levels_of(len(weeks.paths))
    person = Scheme(name="person over the series, L = 20", each=2, allowance=20, epsilon=epsilon)
    event = Scheme(name="any 4 weeks in a row", each=2, epsilon=epsilon)
    capped, bounded = (
        [exact_counts(scheme, weeks, grid, folder, seed) for seed in range(trials)]
        for scheme in (person, event)
    )
    for fitted, way in ((False, "p-sums"), (True, "tree with least squares")):
        yield (
            dataclasses.replace(person, name=f"{person.name}, {way}", epsilon=epsilon / levels),
            [
                tree_drawn(exact, scale=person.scale, seed=seed, fitted=fitted)
                for seed, exact in enumerate(capped)
            ],
        )
    yield (
        dataclasses.replace(event, name=f"{event.name}, absorbed", epsilon=epsilon / 4),
        [absorbed(exact, event, weeks=4, seed=seed)[0] for seed, exact in enumerate(bounded)],
    )


def schemes(epsilon: Fraction, weeks: int) -> Iterator[Scheme]:
    """Yield each way to protect a series, and for comparison epsilon divided among all weeks."""
    yield Scheme(name="epsilon divided among weeks", each=1, epsilon=epsilon / weeks)
    for allowance in (20, 40):
        name = f"person over the series, L = {allowance}"
        yield Scheme(name=name, each=2, allowance=allowance, epsilon=epsilon)
    yield Scheme(name="any 4 weeks in a row", each=2, epsilon=epsilon / 4)
    yield Scheme(name="any one week", each=2, epsilon=epsilon)


def read(path: Path, box: tuple[float, ...], cells: int, folder: Path) -> Weeks:
    """Write each week's rows inside the box (west, south, east, north) to a canonical file.

    Weeks are counted from minute 0 of the file. The true counts of each week are counts of
    `cells` x `cells` cells.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    user, minute, lat, lon = (np.asarray(table[name]) for name in ("user", "minute", "lat", "lon"))
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
    venues = None
    if "poi" in table.column_names:
        keys, first = np.unique(np.asarray(table["poi"])[inside], return_index=True)
        longitude, latitude = to_degrees(x[inside][first], y[inside][first])
        venue = tuple(map(str, keys))
        venues = Places(
            keys=venue,
            longitude=longitude,
            latitude=latitude,
            levels=("place",),
            units=tuple((name,) for name in venue),
        )
    return Weeks(paths, np.array(truth), venues)


def draw(scheme: Scheme, weeks: Weeks, kind: KindOfMap, folder: Path, seed: int) -> Floats:
    """Return the noisy counts of one series, (weeks, cells, cells) or (weeks, n)."""
    salt = np.random.default_rng(seed).bytes(16)
    drawn = list[Floats]()
    before: Path | None = None
    entropy = SeededEntropy(seed)
    for path in weeks.paths:
        settings: dict[str, Any] = {
            "domain": Domain(AREA, kind.layers, "UTC"),
            "unit": Unit.PERSON,
            "counting": kind.counting,
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
        content = run(kind.mechanism, view, kind.params, scheme.epsilon, entropy, {}).content
        drawn.append(kind.numbers(content).reshape(kind.shape or (-1,)).astype(np.float64))
    return np.array(drawn)


def _copy(target: Path, used: Path) -> None:
    shutil.copy(used, target)


def errors(drawn: Floats, scale: float, truth: Floats) -> dict[str, float]:
    """Return the errors of the maps as drawn, and of maps smoothed with those of earlier weeks."""
    smooth, _ = smoothed(drawn, 2 * scale**2)
    found = {
        "rmse": rmse(drawn, truth),
        "rmse smoothed": rmse(smooth, truth),
        f"top {TOP}": busiest(drawn, truth),
        f"top {TOP} smoothed": busiest(smooth, truth),
    }
    if truth.ndim > 2:
        found["sums"] = sums_error(drawn, truth)
    return found


def sums_error(drawn: Floats, truth: Floats) -> float:
    """Return the mean absolute error of sums over random boxes of cells and runs of weeks."""
    random, wrong = np.random.default_rng(0), drawn - truth
    found = []
    for _ in range(RANGES):
        ends = [np.sort(random.integers(0, size, 2)) for size in truth.shape]
        found.append(abs(wrong[tuple(slice(a, b + 1) for a, b in ends)].sum()))
    return float(np.mean(found))


def rmse(drawn: Floats, truth: Floats) -> float:
    """Return the root mean square error over all counts and weeks."""
    return float(np.sqrt(np.mean((drawn - truth) ** 2)))


def busiest(drawn: Floats, truth: Floats) -> float:
    """Return the share of each week's busiest cells that are among the busiest of its noisy map.

    The share is a mean over weeks.
    """
    shares = []
    for one, true in zip(drawn, truth, strict=True):
        if true.sum() > MIN_PEOPLE:
            best = set(np.argsort(true, axis=None)[-TOP:])
            shares.append(len(best & set(np.argsort(one, axis=None)[-TOP:])) / TOP)
    return float(np.mean(shares))


def absorbed(exact: Floats, scheme: Scheme, *, weeks: int, seed: int) -> tuple[Floats, list[int]]:
    """Return weekly maps drawn by budget absorption, and the shares of budget each week spends.

    `exact` holds bounded counts and has the shape of the maps. A week whose counts hardly differ
    from the last published map repeats that map, and a later week spends its shares. A share is
    half of the scheme's epsilon divided by `weeks`; any `weeks` weeks in a row spend at most
    `weeks` shares. One person changes the mean absolute difference of a map from the last published
    one by at most `scheme.each` divided by the number of cells.
    """
    random, size = np.random.default_rng(seed), exact[0].size
    unit = float(scheme.epsilon) / (2 * weeks)
    last, published, spent = np.zeros(exact.shape[1:]), list[Floats](), list[int]()
    before, nullified = -1, 0
    for week, counts in enumerate(exact):
        noise = random.laplace(scale=scheme.each / (unit * size))
        shares = min(week - before - nullified, weeks)
        spent.append(0)
        if shares > 0:
            scale = scheme.each / (unit * shares)
            if np.abs(counts - last).mean() + noise > scale:
                last = counts + random.laplace(scale=scale, size=counts.shape)
                before, nullified, spent[-1] = week, shares - 1, shares
        published.append(last)
    return np.array(published), spent


def tree_nodes(periods: int) -> Floats:
    """Return masks (n, periods) of the periods under each node of a binary tree, leaves first."""
    rows, width = [], 1
    while True:
        for start in range(0, periods, width):
            row = np.zeros(periods)
            row[start : start + width] = 1
            rows.append(row)
        if width >= periods:
            return np.array(rows)
        width *= 2


def levels_of(periods: int) -> int:
    """Return the number of levels of the binary tree, each of which holds every period once."""
    return int(tree_nodes(periods)[:, 0].sum())


def tree_drawn(exact: Floats, *, scale: float, seed: int, fitted: bool) -> Floats:
    """Return weekly maps from a binary tree over bounded counts (weeks, ...).

    `scale` is the scale that the noise would have if every week were measured once. Each
    contribution is in one node of every level, so the noise scale is `scale` times the number of
    levels. With `fitted`, weeks are estimated by least squares from all nodes; otherwise, the noisy
    leaves are returned.
    """
    random, periods = np.random.default_rng(seed), len(exact)
    nodes = tree_nodes(periods)
    sums = nodes @ exact.reshape(periods, -1)
    noisy = sums + random.laplace(scale=scale * levels_of(periods), size=sums.shape)
    weeks = np.linalg.pinv(nodes) @ noisy if fitted else noisy[:periods]
    return np.asarray(weeks.reshape(exact.shape))


def nodes_in(first: int, last: int) -> int:
    """Return the least number of tree nodes that cover periods `first` to `last` - 1."""
    number, width = 0, 1
    while first < last:
        if first // width % 2:
            number, first = number + 1, first + width
        if last // width % 2 and first < last:
            number, last = number + 1, last - width
        width *= 2
    return number


def tree_variances(periods: int) -> dict[str, float]:
    """Return variances of the noisy count of a period, and of sums over periods, at epsilon 1.

    A person counts once. "flat" has one count a period. "tree" is the binary tree with least
    squares: a person is in one node of each level, so each node's noise scale is the number of
    levels. "p-sums" is the same tree without least squares: the fewest nodes are added up. A range
    is a run of two or more periods; its variance is a mean over all runs.
    """
    nodes, levels = tree_nodes(periods), levels_of(periods)
    covariance = np.linalg.inv(nodes.T @ nodes) * 2 * levels**2
    sums = np.zeros((periods + 1, periods + 1))
    sums[1:, 1:] = covariance.cumsum(0).cumsum(1)
    first, last = np.triu_indices(periods + 1, 2)
    added = float(
        np.mean([nodes_in(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)])
    )
    ranges = sums[last, last] + sums[first, first] - 2 * sums[first, last]
    return {
        "flat, a period": 2.0,
        "p-sums, a period": 2.0 * levels**2,
        "tree, a period": float(np.mean(np.diag(covariance))),
        "flat, a range": float(2 * np.mean(last - first)),
        "p-sums, a range": 2.0 * levels**2 * added,
        "tree, a range": float(np.mean(ranges)),
    }
