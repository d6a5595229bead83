"""Visits by hour of the week, in 168 bins; at most BOUND visits of each person are counted.

The noise of every bin has the scale BOUND/epsilon. `rmse` is the root mean square error of a bin,
and `ranges` the mean absolute error of 500 ranges of hours. Methods whose authors assume one visit
a person get epsilon/BOUND, so that BOUND visits cost epsilon together. If a file is given, it
is Parquet with columns user and minute, the minutes since a Sunday at midnight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.histograms import clustered, noise_first, structure_first
from benchmarks.literature.trials import Line, Options, line
from benchmarks.literature.wavelets import privelet, shrunken
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.two_way import two_way_estimate
from dpgeo.privacy.sampler import sample
from tests.randomness import SeededEntropy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Estimate = Callable[[Floats, Generator], Floats]
"""Type of a function that returns an estimate (BINS,) of true counts (BINS,), with noise."""

DAYS, HOURS = 7, 24
BINS = DAYS * HOURS
PADDED = 256
BOUND = 5
PARTS, MOST = 14, 100.0
"""Number of parts for StructureFirst (two a day), and its public limit on a bin's count."""

PEOPLE = 1_100
RANGES = 500


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    person, hour = _generated() if options.file is None else _read(options.file)
    first, last = np.sort(np.random.default_rng(1).integers(0, BINS, (RANGES, 2))).T
    each = options.budget / BOUND

    def trial(estimate: Estimate, random: Generator) -> Mapping[str, float]:
        counts = bounded(person, hour, random)
        wrong = estimate(counts.astype(np.float64), random) - counts
        sums = np.concatenate([[0], np.cumsum(wrong)])
        return {
            "rmse": float(np.sqrt(np.mean(wrong**2))),
            "ranges": float(np.abs(sums[last + 1] - sums[first]).mean()),
        }

    noise = DiscreteLaplace(options.epsilon, BOUND)

    def measured(counts: Floats, random: Generator) -> Floats:
        stream = SeededEntropy(int(random.integers(1 << 32))).stream()
        return counts + sample(noise, BINS, stream)

    def two_way(counts: Floats, random: Generator) -> Floats:
        table = measured(counts, random).astype(np.int64).reshape(DAYS, HOURS)
        return two_way_estimate(table, noise.variance).ravel()

    def wavelet(counts: Floats, random: Generator) -> Floats:
        padded = np.zeros(PADDED)
        padded[:BINS] = counts
        return privelet(padded, each, random)[:BINS]

    def haar(counts: Floats, random: Generator) -> Floats:
        padded = np.zeros(PADDED)
        padded[:BINS] = measured(counts, random)
        # Fill the padding with the beginning of the week: zeros would look like hours without
        # visits.
        padded[BINS:] = padded[: PADDED - BINS]
        return shrunken(padded, noise.variance)[:BINS]

    def structured(counts: Floats, random: Generator) -> Floats:
        return structure_first(counts, each, random, parts=PARTS, most=MOST)

    systems: tuple[tuple[str, str, Estimate], ...] = (
        ("dpgeo, measured bins", "dpgeo", measured),
        ("dpgeo, two-way estimate", "dpgeo", two_way),
        ("NoiseFirst", "Xu et al. 2013", lambda counts, r: noise_first(counts, each, r)),
        ("StructureFirst", "Xu et al. 2013", structured),
        ("AHP", "Zhang et al. 2014", lambda counts, r: clustered(counts, each, r)),
        ("Privelet", "Xiao et al. 2010", wavelet),
        ("measured bins, wavelets shrunk", "Efron and Morris 1973", haar),
    )
    for name, source, estimate in systems:
        yield line(name, source, partial(trial, estimate), options)


def bounded(person: Ints, hour: Ints, random: Generator) -> Ints:
    """Return the counts (BINS,) of at most BOUND visits of each person, kept at random."""
    order = np.lexsort([random.random(len(person)), person])
    _, start, number = np.unique(person[order], return_index=True, return_counts=True)
    rank = np.arange(len(person)) - np.repeat(start, number)
    return np.bincount(hour[order][rank < BOUND], minlength=BINS)


def _generated() -> tuple[Ints, Ints]:
    """Return the person and the hour (n,) of visits with a rhythm of days and nights."""
    random = np.random.default_rng(11)
    clock = np.exp(-((np.arange(HOURS)[:, None] - [8, 13, 19]) ** 2) / 8).sum(axis=1) + 0.05
    week = np.array([1.3, 1, 1, 1, 1.1, 1.2, 1.5])[:, None] * clock
    week[[0, 6]] = np.roll(week[[0, 6]], 3, axis=1)
    person = np.repeat(np.arange(PEOPLE), (random.pareto(1.0, PEOPLE) * 5 + 1).astype(np.int64))
    return person, random.choice(BINS, len(person), p=(week / week.sum()).ravel())


def _read(file: Path) -> tuple[Ints, Ints]:
    import pandas

    table = pandas.read_parquet(file, columns=["user", "minute"])
    hour = (table["minute"].to_numpy() // 60 % BINS).astype(np.int64)
    return np.unique(table["user"], return_inverse=True)[1], hour
