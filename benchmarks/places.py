"""Errors of counts and rankings of places, by dpgeo and by the methods LPA, DFT and GS.

The protocol follows Fan and Jin (2015): half of epsilon for places and half for pairs of a place
and a day of the week, M (the most visits of any person) taken from the data, mean squared error,
Kullback-Leibler divergence and precision among the k busiest. Counts are compared with the true
numbers of visits or, in the lines that count people, of people.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.distributions import divergence, precision_at
from benchmarks.literature import contributions
from benchmarks.report import report
from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.core.released import PlacesRelease
from dpgeo.core.slices import ALL_TIMES
from dpgeo.mechanisms import places
from dpgeo.postprocess.place_ranks import rank_intervals
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.places import Places
from tests.randomness import SeededEntropy
from tests.views import ArrayView

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DAYS = "days of the week"
APART = 0.01
"""Degrees between neighbouring points of a lattice. Each place gets a point of its own, because
places of a file may share positions.
"""

REACH = 10

EVERYTHING = 1 << 30


def add_to(subcommands: Any) -> None:
    """Add the subcommand `places` to the command line."""
    parser = subcommands.add_parser("places", help=__doc__.partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="Parquet with columns user, poi and minute"
    )
    parser.add_argument("--epsilon", action="append", help="may be repeated; 1 by default")
    parser.add_argument("--bound", action="append", type=int, help="may be repeated; 10 by default")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each method, epsilon and contribution bound."""
    view, place, day = read(options.data)
    size = int(place.max()) + 1
    persons = np.asarray(view.persons)
    items = np.bincount(place, minlength=size)
    pairs = np.bincount(day * size + place, minlength=7 * size).reshape(7, size)
    heads = np.bincount(np.unique(persons * size + place) % size, minlength=size)
    visits = int(np.bincount(persons).max())
    report({"people": len(np.unique(persons)), "places": size, "M": visits}, options.json)
    for epsilon in options.epsilon or ["1"]:
        for bound in options.bound or [10]:
            for name, counting, bounding, times in (
                ("SRA", Counting.VISITS, Bounding.RANDOM, DAYS),
                ("HPA", Counting.VISITS, Bounding.POPULAR, DAYS),
                ("visits, places alone", Counting.VISITS, Bounding.RANDOM, ALL_TIMES),
                ("people, places alone", Counting.PEOPLE, Bounding.RANDOM, ALL_TIMES),
                ("people, popular", Counting.PEOPLE, Bounding.POPULAR, ALL_TIMES),
            ):
                bounded = dataclasses.replace(view, counting=counting, bound=bound)
                truth = items if counting is Counting.VISITS else heads
                found = [
                    released_errors(
                        dataclasses.replace(bounded, salt=number + 1),
                        truth,
                        pairs,
                        (Fraction(epsilon), bounding, times, number),
                    )
                    for number in range(options.trials)
                ]
                line = {"method": name, "epsilon": epsilon, "bound": bound}
                report({**line, **averaged(found)}, options.json)
        for name, method in literature(visits, float(epsilon), view, place, size).items():
            found = [literature_errors(method, items, pairs, n) for n in range(options.trials)]
            line = {"method": name, "epsilon": epsilon, "bound": visits}
            report({**line, **averaged(found)}, options.json)


def read(path: Path) -> tuple[ArrayView, Ints, Ints]:
    """Return a file's check-ins for a mechanism to read, and the place and weekday of each."""
    import pandas as pd

    frame = pd.read_parquet(path, columns=["user", "poi", "minute"])
    _, place = np.unique(frame["poi"].to_numpy(), return_inverse=True)
    hours = frame["minute"].to_numpy().astype(np.int64) // 60 % 168
    size = int(place.max()) + 1
    side = int(np.ceil(np.sqrt(size)))
    row, column = np.divmod(np.arange(size), side)
    keys = tuple(map(str, range(size)))
    listed = Places(
        levels=("place",),
        keys=keys,
        units=tuple((key,) for key in keys),
        longitude=APART * (column + 0.5),
        latitude=APART * (row + 0.5),
    )
    view = ArrayView(
        area=StudyArea.from_bounds(0, 0, APART * side, APART * side),
        longitude=listed.longitude[place],
        latitude=listed.latitude[place],
        persons=frame["user"].to_numpy().astype(np.int64),
        hours=hours,
        declared={"places": listed},
    )
    return view, place.astype(np.int64), hours // 24


def released_errors(
    view: ArrayView, truth: Ints, pairs: Ints, drawing: tuple[Fraction, Bounding, str, int]
) -> dict[str, float]:
    """Return the errors of a release of places, and whether its rank intervals were right.

    Intervals are compared with the ranks of the bounded counts, and of counts without a bound.
    """
    epsilon, bounding, times, number = drawing
    params = places.Params(places="places", reach=REACH, slices=times)
    released = run(
        places.MECHANISM, view, params, epsilon, SeededEntropy(number), {}, bounding=bounding
    )
    content = released.content
    assert isinstance(content, PlacesRelease)
    found = errors(truth, content.counts)
    if bounding is Bounding.RANDOM and times == ALL_TIMES:
        bounded = view.zone_counts(places.regions(params, view.domain))._read_by_meter()
        best, worst = rank_intervals(content.counts, content.noise)
        for name, counts in (("ranks held", bounded), ("ranks held, unbounded", truth)):
            ordered = np.sort(counts)
            first = 1 + counts.size - np.searchsorted(ordered, counts, side="right")
            last = counts.size - np.searchsorted(ordered, counts, side="left")
            found[name] = float(np.all(best <= first) and np.all(last <= worst))
        found["surely among 20"] = float(np.sum(worst <= 20))
    return found | (pair_errors(pairs, content.pairs) if len(content.pairs) else {})


Method = Callable[[Floats, Generator], Floats]


def literature(
    visits: int, epsilon: float, view: ArrayView, place: Ints, size: int
) -> dict[str, Method]:
    """Return the methods of the literature, by name.

    A method is applied to two arrays, of places and of pairs of a day and a place, and gets half
    of epsilon for each. Grouping and smoothing (GS) samples one visit of each person, and sorts
    places, and pairs, by their numbers of sampled visits.
    """
    half = epsilon / 2
    first = np.unique(np.asarray(view.persons), return_index=True)[1]
    day = np.asarray(view.hours, dtype=np.int64) // 24
    sampled = {
        size: np.bincount(place[first], minlength=size),
        7 * size: np.bincount(day[first] * size + place[first], minlength=7 * size),
    }

    def fourier(kept: int) -> Method:
        return lambda counts, random: contributions.fourier(counts, visits, half, random, kept=kept)

    def grouped(group: int) -> Method:
        return lambda counts, random: contributions.grouped(
            counts, sampled[counts.size].astype(np.float64), visits, half, random, size=group
        )

    return {
        "LPA": lambda counts, random: contributions.laplace(counts, visits, half, random),
        **{f"DFT, {kept} coefficients": fourier(kept) for kept in (10, 100)},
        **{f"GS, groups of {group}": grouped(group) for group in (100, 1000)},
    }


def errors(truth: Ints, counts: NDArray[Any]) -> dict[str, float]:
    """Return the errors of the counts of places."""
    return {
        "mse": float(np.mean(np.square(counts - truth, dtype=np.float64))),
        "kl": divergence(truth, counts),
        **{f"precision at {k}": precision_at(truth, counts, k) for k in (10, 50, 100)},
    }


def pair_errors(truth: Ints, counts: NDArray[Any]) -> dict[str, float]:
    """Return the errors of counts (7, n) by weekday and place.

    The precision among the ten busiest places is a mean over weekdays.
    """
    days = [precision_at(one, other, 10) for one, other in zip(truth, counts, strict=True)]
    return {
        "pairs mse": float(np.mean(np.square(counts - truth, dtype=np.float64))),
        "pairs kl": divergence(truth.ravel(), counts.ravel()),
        "pairs precision at 10": float(np.mean(days)),
    }


def literature_errors(method: Method, items: Ints, pairs: Ints, number: int) -> dict[str, float]:
    """Return the errors of one trial of a method of the literature."""
    random = np.random.default_rng(number)
    counts = method(items.astype(np.float64), random)
    own = method(pairs.ravel().astype(np.float64), random)
    return errors(items, counts) | pair_errors(pairs, own.reshape(pairs.shape))


def averaged(trials: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each figure over the trials."""
    return {name: float(np.mean([each[name] for each in trials])) for name in trials[0]}
