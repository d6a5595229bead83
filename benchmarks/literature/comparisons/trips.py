"""Made-up trips by dpgeo, and by models written after DPT and AdaTrace.

If a file is given, it is Parquet with columns user, lon and lat, and with either traj, the number
of a row's trip (rows are in the order of travel), or minute, in which case rows of a user at most
GAP minutes apart are a trip. Without a file, trips between hubs of an invented city are generated,
each by a different person.

Divergences (Jensen-Shannon, in nats) between the real and the made-up trips: `visits` of cells,
`pairs` of a start and an end, `lengths` in moves, `moves` between neighbouring cells, and
`distance`, the length on the ground of the straight line from start to end, in 20 bins. `busiest`
is the share of the 50 busiest moves that is found, and `queries` the mean relative error of the
number of trips that touch a random box (relative to the number, or to 1 % of all trips).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.trajectories import Way, prefix_trees, walk_and_jump
from benchmarks.literature.trials import Line, Options, line
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.trip_paths import MAX_MOVES, TripPaths
from dpgeo.mechanisms import trips
from dpgeo.postprocess.trip_model import make_ways, trip_generator, trip_model_of_content
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.trip_features import OrderedRows, PrivateTripFeatures, TripFeatures, moves_of
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_mercator
from tests.randomness import SeededEntropy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SIDE = 12
DRAWN = 3_000
"""Number of made-up trips that each compared method draws."""

BOUND = 10
"""Largest number of trips of one person that are counted, if persons are the privacy unit."""

GAP = 360
BOXES = 300
BUSIEST = 50

AREA = StudyArea.from_bounds(10.0, 50.0, 10.4, 50.25)


class Trips:
    """Rows (m,) of trips in order, as cells of a grid, and the people who made them."""

    def __init__(
        self,
        area: StudyArea,
        person: Ints,
        trip: Ints,
        lon: Floats,
        lat: Floats,
        side: int = SIDE,
    ) -> None:
        self.grid = Grid.over(area, side)
        cell = self.grid.locate(*to_mercator(lon, lat))
        inside = cell >= 0
        self.area, self.person, self.cell = area, person[inside], cell[inside]
        self.trip = np.unique(trip[inside], return_inverse=True)[1].astype(np.int64)

    def ways(self) -> list[Way]:
        """Return the cells of each trip with at least one move, cut off after MAX_MOVES moves."""
        rows = OrderedRows(
            unit=self.trip,
            trip=self.trip,
            cell=self.cell,
            key=np.zeros(self.cell.size, dtype=np.uint64),
        )
        trip, start, end, _ = moves_of(rows, self.grid.columns)
        first = np.flatnonzero(np.r_[True, np.diff(trip) != 0])
        return [
            np.append(start[at:after], end[after - 1])
            for at, after in zip(first, [*first[1:], trip.size], strict=True)
        ]

    def of_ways(self) -> Ints:
        """Return the person (t,) of each trip with at least one move."""
        changes = np.flatnonzero(np.diff(self.cell) * (np.diff(self.trip) == 0))
        _, row = np.unique(self.trip[changes], return_index=True)
        return self.person[changes[row]]


class TripsView:
    """View of trips that dpgeo's mechanism reads; each trip or each person is a privacy unit."""

    def __init__(self, data: Trips, unit: Ints, bound: int, random: Generator) -> None:
        self._data, self._unit = data, unit
        self.domain = Domain(data.area, time_zone="UTC", unit=Unit.PERSON)
        self.counting, self.unit, self.bound = Counting.VISITS, Unit.PERSON, bound
        keys = random.integers(0, 1 << 63, int(data.trip.max()) + 1, dtype=np.uint64)
        self._keys = keys[data.trip]

    def trip_features(self, paths: TripPaths) -> PrivateTripFeatures:
        """Return counts of trips by start and end, move and length, on the grid in `paths`.

        At most `bound` trips of each privacy unit count.
        """
        features = TripFeatures(paths.grid, self.bound, distinct=False)
        data = self._data
        features.add(OrderedRows(unit=self._unit, trip=data.trip, cell=data.cell, key=self._keys))
        return features.private()


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of mean errors for each system, with trips, then persons as privacy units."""
    data = _generated() if options.file is None else read(options.file)
    real, whose = data.ways(), data.of_ways()
    errors = errors_of(real, data.grid)

    def own(unit: Ints, bound: int, random: Generator, epsilon: Fraction) -> Mapping[str, float]:
        return errors(made_up(data, unit, bound, random, epsilon))

    def rival(make: Callable[..., list[Way]], random: Generator) -> Mapping[str, float]:
        made = make(real, SIDE, options.budget, random, most=MAX_MOVES, number=DRAWN)
        return errors(made)

    def of_persons(make: Callable[..., list[Way]], random: Generator) -> Mapping[str, float]:
        order = random.permutation(len(real))
        order = order[np.argsort(whose[order], kind="stable")]
        person = whose[order]
        first = np.flatnonzero(np.r_[True, np.diff(person) != 0])
        rank = np.arange(order.size) - np.repeat(first, np.diff(np.r_[first, order.size]))
        kept = [real[each] for each in order[rank < BOUND]]
        epsilon = options.budget / BOUND
        return errors(make(kept, SIDE, epsilon, random, most=MAX_MOVES, number=DRAWN))

    rivals = (
        ("DPT-like prefix trees", "He et al. 2015", prefix_trees),
        ("AdaTrace-like walk", "Gursoy et al. 2018", walk_and_jump),
    )
    without_noise = Fraction(1000)
    yield line(
        "dpgeo's model, no noise",
        "dpgeo",
        lambda random: own(data.trip, 1, random, without_noise),
        options,
        "none",
    )
    yield line(
        "dpgeo, made-up trips",
        "dpgeo",
        lambda random: own(data.trip, 1, random, options.epsilon),
        options,
        "eps a trip",
    )
    for name, source, make in rivals:
        yield line(name, source, partial(rival, make), options, "eps a trip")
    yield line(
        "dpgeo, made-up trips",
        "dpgeo",
        lambda random: own(data.person, BOUND, random, options.epsilon),
        options,
        f"eps a person, {BOUND} trips",
    )
    for name, source, make in rivals:
        yield line(
            name,
            source,
            partial(of_persons, make),
            options,
            f"eps a person, {BOUND} trips",
        )


def made_up(data: Trips, unit: Ints, bound: int, random: Generator, epsilon: Fraction) -> list[Way]:
    """Return the trips that dpgeo makes up if at most `bound` trips of each privacy unit count."""
    view = TripsView(data, unit, bound, random)
    params = trips.Params(cells=data.grid.columns)
    entropy = SeededEntropy(int(random.integers(1 << 32)))
    meter = Meter(trips.plan(params, epsilon), entropy)
    content = trips.release(view, params, meter)  # type: ignore[arg-type]
    ways = make_ways(
        trip_model_of_content(content, data.area),
        DRAWN,
        np.random.Generator(trip_generator(content)),
    )
    return np.split(ways.cell, ways.start[1:-1]) if len(ways) else []


SIZES = ((12, 1.0), (12, 0.5), (12, 0.25), (12, 0.125), (8, 0.15), (8, 0.04))
"""Cells along each side, and share of the file's trips that is kept, for each line of `sizes`."""


def sizes(file: Path, trials: int = 2) -> Iterator[str]:
    """Yield lines of the table in docs/mechanisms/trips.md, for ever smaller shares of a file.

    Each trip counts as that of a different person, except in the last line, in which BOUND trips of
    each person count. Figures are means over trials.
    """

    def row(title: str, data: Trips, unit: Ints, bound: int, epsilon: Fraction) -> str:
        real = data.ways()
        errors = errors_of(real, data.grid)
        every = [
            errors(made_up(data, unit, bound, np.random.default_rng(seed), epsilon))
            for seed in range(trials)
        ]
        means = (
            f"{np.mean([each[name] for each in every]):.2g}"
            for name in ("visits", "pairs", "lengths", "moves", "busiest")
        )
        return f"| {title} | {len(real):,} | {' | '.join(means)} |"

    for number, (side, share) in enumerate(SIZES):
        data = read(file, side, share)
        if number == 0:
            yield row(f"{side} x {side}, no noise", data, data.trip, 1, Fraction(1000))
        yield row(f"{side} x {side}", data, data.trip, 1, Fraction(1))
    data = read(file)
    yield row(
        f"{SIDE} x {SIDE}, {BOUND} trips of each person", data, data.person, BOUND, Fraction(1)
    )


def errors_of(real: Sequence[Way], grid: Grid) -> Callable[[Sequence[Way]], Mapping[str, float]]:
    """Return a function that takes made-up trips and returns their errors against the real ones."""
    random = np.random.default_rng(7)
    corners = np.sort(random.integers(0, grid.columns, (BOXES, 2, 2)), axis=1)
    truth, asked = _statistics(real, grid), _touching(real, corners, grid.columns)
    busiest = set(np.argsort(-truth["moves"], kind="stable")[:BUSIEST].tolist())

    def errors(made: Sequence[Way]) -> Mapping[str, float]:
        if not made:
            made = [np.array([0, 1])]
        found = _statistics(made, grid)
        figures = {name: jensen_shannon(truth[name], found[name]) for name in truth}
        told = set(np.argsort(-found["moves"], kind="stable")[:BUSIEST].tolist())
        scaled = _touching(made, corners, grid.columns) * len(real) / len(made)
        least = np.maximum(asked, 0.01 * len(real))
        return {
            **figures,
            "busiest": len(busiest & told) / BUSIEST,
            "queries": float(np.mean(np.abs(scaled - asked) / least)),
        }

    return errors


def jensen_shannon(first: Floats, second: Floats) -> float:
    """Return the Jensen-Shannon divergence in nats of two arrays of weights."""
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2
    return float(
        sum((each[each > 0] * np.log(each[each > 0] / middle[each > 0])).sum() for each in (p, q))
        / 2
    )


def _statistics(ways: Sequence[Way], grid: Grid) -> dict[str, Floats]:
    cells = grid.size
    start, end = (np.array([way[at] for way in ways]) for at in (0, -1))
    every, lengths = np.concatenate(ways), np.array([len(way) - 1 for way in ways])
    steps = np.concatenate([way[:-1] * cells + way[1:] for way in ways])
    row, column = np.divmod(np.stack([start, end]), grid.columns)
    kilometres = np.hypot(np.diff(row, axis=0), np.diff(column, axis=0)).ravel()
    bins = np.minimum((kilometres * 20 / (1.5 * grid.columns)).astype(np.int64), 19)
    counts = {
        "visits": np.bincount(every, minlength=cells),
        "pairs": np.bincount(start * cells + end, minlength=cells**2),
        "lengths": np.bincount(np.minimum(lengths, MAX_MOVES), minlength=MAX_MOVES + 1),
        "moves": np.bincount(steps, minlength=cells**2),
        "distance": np.bincount(bins, minlength=20),
    }
    return {name: each.astype(np.float64) for name, each in counts.items()}


def _touching(ways: Sequence[Way], corners: Ints, side: int) -> Floats:
    """Return how many trips have a cell in each of the boxes (n,), given by their corner cells."""
    trip = np.repeat(np.arange(len(ways)), [len(way) for way in ways])
    row, column = np.divmod(np.concatenate(ways), side)
    counts = []
    for (top, left), (bottom, right) in corners:
        inside = (row >= top) & (row <= bottom) & (column >= left) & (column <= right)
        counts.append(np.unique(trip[inside]).size)
    return np.array(counts, dtype=np.float64)


def read(path: Path, side: int = SIDE, share: float = 1.0) -> Trips:
    """Read the trips of a file; see the module's docstring.

    `side` is the number of cells along either side, and `share` the share of trips that is kept, at
    random. The study area is the bounding box of the rows, without the first and last percent along
    each axis.
    """
    import pandas

    rows = pandas.read_parquet(path)
    west, east = rows.lon.quantile([0.01, 0.99])
    south, north = rows.lat.quantile([0.01, 0.99])
    rows = rows[rows.lon.between(west, east) & rows.lat.between(south, north)]
    person = rows.groupby("user", sort=False).ngroup().to_numpy().astype(np.int64)
    if "traj" in rows:
        trip = rows.groupby(["user", "traj"], sort=False).ngroup().to_numpy().astype(np.int64)
        order = np.argsort(trip, kind="stable")
    else:
        minute = rows.minute.to_numpy()
        order = np.lexsort((minute, person))
        late = np.diff(minute[order]) > GAP
        trip = np.empty(person.size, dtype=np.int64)
        trip[order] = np.cumsum(np.r_[False, (np.diff(person[order]) != 0) | late])
    lon, lat = rows.lon.to_numpy()[order], rows.lat.to_numpy()[order]
    person, trip = person[order], trip[order]
    kept = np.random.default_rng(3).random(int(trip.max()) + 1)[trip] < share
    area = StudyArea.from_bounds(west, south, east, north)
    return Trips(area, person[kept], trip[kept], lon[kept], lat[kept], side)


def _generated() -> Trips:
    """Return trips of 10,000 people between hubs of a city, with detours."""
    random, people, points = np.random.default_rng(11), 10_000, 9
    hubs = np.array([[10.2, 50.12], [10.1, 50.06], [10.3, 50.18], [10.12, 50.19]])
    start = hubs[random.choice(4, people, p=[0.2, 0.3, 0.3, 0.2])]
    end = hubs[random.choice(4, people, p=[0.7, 0.1, 0.1, 0.1])]
    start, end = (each + random.normal(0, 0.02, each.shape) for each in (start, end))
    share = np.linspace(0, 1, points)[None, :, None]
    way = start[:, None] * (1 - share) + end[:, None] * share
    way = np.clip(way + random.normal(0, 0.004, way.shape), [10.001, 50.001], [10.399, 50.249])
    person = np.repeat(np.arange(people), points)
    return Trips(AREA, person, person, way[..., 0].ravel(), way[..., 1].ravel())


if __name__ == "__main__":
    print("\n".join(sizes(Path(sys.argv[1]))))
