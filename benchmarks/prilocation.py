"""Distance errors of PriLocation, compared with plain Laplace noise and k-anonymity.

Epsilon is given per record, as in the source (Zhu, Li, Zhou and Yu 2017, section 12.4.5), so it is
l times as much for a person with l records. There are as many virtual users as persons, and each
person is assigned to a random virtual user. Errors are means over virtual users, divided by the
hierarchical sensitivity, which is the largest distance between two places in the city. Let t be a
place before its replacement and z the place drawn for it:

de: the sum of d(t, z) divided by the size of the output (the source's equation);

de_true: the same sum divided by the number of the virtual user's true records (the source's text);

de_honest: for every drawn place, fakes included, the distance to the nearest place where somebody
assigned to the virtual user really was, divided by the size of the output.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from benchmarks.literature.locations import k_anonymous, per_coordinate
from benchmarks.report import report
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.spend import Spend
from dpgeo.privacy.clustering import run_kmeans
from dpgeo.privacy.exponential_mechanism import (
    STEPS,
    Bins,
    draw_uniform,
    fit_to_counts,
    replace_places,
)
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.sampler import sample
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres, ground_metres, nearest, spread_evenly
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places, diameter
from tests.randomness import SeededEntropy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Line = dict[str, str | float]

LATTICE = 1024
ROUNDS = 5
CLUSTERS = (10, 40, 80)
CROWDS = (10, 50)
TENTHS = tuple(range(1, 11))


def add_to(subcommands: Any) -> None:
    """Add the subcommand `prilocation` to the command line."""
    parser = subcommands.add_parser("prilocation", help=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Parquet with user, lon, lat")
    parser.add_argument("--every", type=int, default=1, help="take every so many rows")
    parser.add_argument("--cells", type=int, default=0, help="places are cells, not distinct poi")
    parser.add_argument("--tenths", type=int, nargs="+", default=TENTHS, help="of epsilon")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--speed", action="store_true", help="time k-means beside scikit-learn")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


@dataclass(frozen=True, eq=False)
class Records:
    """Records (n,), each with a person numbered from 0, a position and the place nearest to it."""

    persons: Ints
    people: int
    at: Centres
    places: Places
    place: Ints
    area: StudyArea


def measure(options: argparse.Namespace) -> None:
    """Print a line for every method, epsilon and number of clusters."""
    records = read(options.data, options.every, options.cells)
    name = options.data.stem
    if options.speed:
        report({"data": name, **speed(records)}, options.json)
        return
    for line in lines(records, options.tenths, options.seed):
        report({"data": name, **line}, options.json)


def read(file: Path, every: int = 1, cells: int = 0) -> Records:
    """Return the records of a file that lie in a box around nearly all of them.

    Places are the centres of `cells` x `cells` grid cells or, if `cells` is 0, the points of
    interest in the column `poi`. Only each `every`-th row is read. The box is the study area. It
    spans the 0.001 to 0.999 quantiles of each coordinate, and 0.01 degrees more on each side. Only
    a benchmark may derive the area from the data.
    """
    import pyarrow.parquet as pq

    table = pq.read_table(file).to_pandas().iloc[::every]
    lon, lat = table["lon"].to_numpy(np.float64), table["lat"].to_numpy(np.float64)
    west, east = np.quantile(lon, [0.001, 0.999])
    south, north = np.quantile(lat, [0.001, 0.999])
    area = StudyArea.from_bounds(west - 0.01, south - 0.01, east + 0.01, north + 0.01)
    inside = area.covers(lon, lat)
    persons = np.unique(table["user"].to_numpy()[inside], return_inverse=True)[1].astype(np.int64)
    at = Centres.from_degrees(lon[inside], lat[inside])
    places = Places.of_cells(area, cells) if cells else _distinct(table, inside)
    grid = Grid.over(area, LATTICE)
    place = places.nearest_to_cells(grid)(grid.locate(at.x, at.y))
    return Records(persons, int(persons.max()) + 1, at, places, place, area)


def _distinct(table: Any, held: NDArray[np.bool_]) -> Places:
    """Return a place for each point of interest in those rows of `table` where `held` is true."""
    found = table[held].groupby("poi")[["lon", "lat"]].first()
    return Places(
        levels=("street",),
        keys=tuple(map(str, found.index)),
        units=tuple((str(key),) for key in found.index),
        longitude=found["lon"].to_numpy(np.float64),
        latitude=found["lat"].to_numpy(np.float64),
    )


def lines(records: Records, tenths: Sequence[int], seed: int) -> Iterator[Line]:
    """Yield a line of errors for every method, epsilon and number of clusters."""
    wide = diameter(records.places.positions)
    for crowd in CROWDS:
        moved = Centres(*k_anonymous(records.at.x, records.at.y, records.persons, crowd))
        away = ground_metres(records.at, moved)
        error = mean_of_persons(records.persons, away / wide, records.people)
        yield {"method": f"k-anonymity {crowd}", "de": error, "de_true": error}
    for tenth in tenths:
        epsilon = Fraction(tenth, 10)
        away = ground_metres(records.at, plain(records, float(epsilon), seed))
        error = mean_of_persons(records.persons, away / wide, records.people)
        yield {"method": "plain laplace", "epsilon": float(epsilon), "de": error, "de_true": error}
        for clusters in CLUSTERS:
            yield prilocation(records, epsilon, clusters, seed, wide)


def plain(records: Records, epsilon: float, seed: int) -> Centres:
    """Return positions with Laplace noise in both coordinates, clipped to the study area.

    Each coordinate uses half of epsilon.
    """
    random = np.random.default_rng(seed)
    west, south, east, north = records.area.mercator_bounds
    scales = (2 * (east - west) / epsilon, 2 * (north - south) / epsilon)
    x, y = per_coordinate(records.at.x, records.at.y, scales, random)
    return Centres(np.clip(x, west, east), np.clip(y, south, north))


def prilocation(records: Records, epsilon: Fraction, clusters: int, seed: int, wide: float) -> Line:
    """Run PriLocation's steps with the paper's shares of epsilon, and return its distance errors.

    `epsilon` is given per record.
    """
    entropy = SeededEntropy(seed)
    grid = Grid.over(records.area, LATTICE)
    at = records.places.positions
    own_cell = grid.locate(at.x, at.y)
    cells, amounts = np.unique(own_cell[records.place], return_counts=True)
    counts = PrivateSparseCounts(cells, amounts, size=grid.size, sensitivity=1)
    labels = [str(number) for number in range(ROUNDS)]
    meter = Meter([Spend(label=each, epsilon=epsilon / 2 / ROUNDS) for each in labels], entropy)
    centres = run_kmeans(meter, labels, counts, grid, spread_evenly(records.area, clusters))
    pair, bin_of = np.unique(nearest(grid, own_cell, centres), return_inverse=True)
    middle = Centres(centres.x[pair[bin_of]], centres.y[pair[bin_of]])
    bins = Bins.ranked(bin_of.astype(np.int64), len(pair), at, ground_metres(at, middle))
    dealt = draw_uniform(np.full(records.people, records.people), entropy.stream())
    own = dataclasses.replace(records, persons=dealt[records.persons], people=records.people)
    key = own.persons * len(bins) + bins.of_place[own.place]
    true = np.bincount(key, minlength=records.people * len(bins))
    noise = sample(DiscreteLaplace(epsilon / 4, 1), true.size, entropy.stream())
    wanted = np.maximum(true + noise, 0).reshape(records.people, -1)
    persons, before = fit_to_counts(own.persons, own.place, wanted, bins)
    after = replace_places(before, bins, epsilon / 4 / (2 * STEPS), entropy.stream())
    away = ground_metres(_taken(at, before), _taken(at, after)) / wide
    whole = np.bincount(own.persons, minlength=own.people)
    kept_rows = whole > 0
    of_true = np.bincount(persons, away, own.people)[kept_rows] / whole[kept_rows]
    return {
        "method": "prilocation",
        "epsilon": float(epsilon),
        "clusters": clusters,
        "de": mean_of_persons(persons, away, records.people),
        "de_true": float(of_true.mean()),
        "de_honest": _honest(own, persons, _astray(own, persons, after) / wide),
        "fakes_per_person": float(np.maximum(wanted.ravel() - true, 0).sum() / records.people),
        "records_per_person": float(whole.mean()),
    }


def _taken(at: Centres, places: Ints) -> Centres:
    return Centres(at.x[places], at.y[places])


def mean_of_persons(persons: Ints, values: Floats, people: int) -> float:
    """Return the mean of each person's mean value; people without a value are left out."""
    size = np.bincount(persons, minlength=people)
    sums = np.bincount(persons, values, people)
    return float((sums[size > 0] / size[size > 0]).mean())


def _honest(records: Records, persons: Ints, astray: Floats) -> float:
    """Return the mean of the distances `astray` over virtual users who have a true place.

    A distance is that from a drawn place to the nearest true place of its virtual user;
    `persons` are the virtual users. Each user's mean counts once.
    """
    belongs = np.isin(persons, records.persons)
    return mean_of_persons(persons[belongs], astray[belongs], records.people)


def _astray(records: Records, persons: Ints, places: Ints) -> Floats:
    """Return the distance in metres from each drawn place to the nearest true place of its person.

    The distance is 0 if the person has no true place.
    """
    at = records.places.positions
    away = np.zeros(len(places))
    order = np.argsort(persons, kind="stable")
    ends = np.searchsorted(persons[order], np.arange(records.people + 1))
    own = [np.unique(records.place[records.persons == who]) for who in range(records.people)]
    for who in np.unique(records.persons):
        own_rows = order[ends[who] : ends[who + 1]]
        drawn, back = np.unique(places[own_rows], return_inverse=True)
        tree = shapely.STRtree(shapely.points(at.x[own[who]], at.y[own[who]]))
        found = own[who][tree.nearest(shapely.points(at.x[drawn], at.y[drawn]))]
        away[own_rows] = ground_metres(_taken(at, drawn), _taken(at, found))[back]
    return away


def speed(records: Records) -> Line:
    """Return time and memory of five rounds of k-means, 80 clusters, noisy or scikit-learn's."""
    from sklearn.cluster import KMeans

    grid = Grid.over(records.area, LATTICE)
    start = spread_evenly(records.area, 80)
    labels = [str(number) for number in range(ROUNDS)]
    plan = [Spend(label=each, epsilon=Fraction(1, 5)) for each in labels]

    def ours() -> None:
        cells, amounts = np.unique(grid.locate(records.at.x, records.at.y), return_counts=True)
        counts = PrivateSparseCounts(cells, amounts, size=grid.size, sensitivity=1)
        run_kmeans(Meter(plan, SeededEntropy(1)), labels, counts, grid, start)

    def theirs() -> None:
        begin = np.column_stack([start.x, start.y])
        positions = np.column_stack([records.at.x, records.at.y])
        KMeans(80, init=begin, n_init=1, max_iter=ROUNDS, tol=0).fit(positions)

    seconds = [[_seconds(run) for _ in range(3)] for run in (ours, theirs)]
    return {
        "method": "k-means, 5 rounds, 80 clusters",
        "records": float(records.persons.size),
        "ours_s": min(seconds[0]),
        "scikit_learn_s": min(seconds[1]),
        "ratio": min(seconds[0]) / min(seconds[1]),
        "ours_mib": _mebibytes(ours),
        "scikit_learn_mib": _mebibytes(theirs),
    }


def _seconds(run: Callable[[], None]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def _mebibytes(run: Callable[[], None]) -> float:
    """Return the peak memory in MiB that a function allocates for arrays and objects.

    Memory allocated earlier, such as the memory of the positions, is not counted.
    """
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1024**2
