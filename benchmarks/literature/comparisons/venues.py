"""Visits to places: errors of their counts, and the share of the K busiest that is found.

As in Fan and Jin 2015, half of epsilon pays for counts by place and half for counts by place and
day (`edges`); HPA spends a tenth of epsilon on popularity, and 45 % on each of the two. `top_K` is
the share of the K busiest places that is found, `kept` the share of visits that are counted. `week`
is the largest difference, over the days of the week, between a day's share of the counted visits
and its share of all visits, in percentage points. The line *HPA's popularity* is the noisy count of
one visit of each person. If a file is given, it is Parquet with columns user, minute, and poi or
lon and lat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.distributions import divergence, precision_at
from benchmarks.literature.comparisons.own import measured
from benchmarks.literature.contributions import fourier, grouped, laplace
from benchmarks.literature.trials import Line, Options, line
from benchmarks.literature.visits import Visits, read

Floats = NDArray[np.float64]
Estimate = Callable[[Generator], Floats]
"""Type of a function that returns noisy counts of visits, with noise from the generator."""

KEPT, GROUP = 20, 64
"""Number of Fourier coefficients that DFT keeps, and of places in a group of GS (grouping and
smoothing).
"""

BOUND = 10
TOPS = (1, 10, 100, 1000)

POPULARITY = Fraction(1, 10)
"""Share of epsilon that HPA, which keeps visits to popular places, spends on their popularity."""

TOLD = "eps, if told the most visits"


def compare(options: Options, bound: int = BOUND) -> Iterator[Line]:
    """Yield a line of mean errors for each method; `bound` is the contribution bound l."""
    visits = read(options.file)
    truth, days, epsilon = visits.of_places(), visits.of_days(), options.epsilon
    half = options.budget / 2

    def errors(estimate: Floats) -> dict[str, float]:
        return {
            "rmse": float(np.sqrt(np.mean((estimate - truth) ** 2))),
            "kl": divergence(truth, estimate),
            **{f"top_{top}": precision_at(truth, estimate, top) for top in TOPS},
        }

    def rival(estimate: Estimate, random: Generator) -> Mapping[str, float]:
        return errors(estimate(random))

    def own(random: Generator, *, popular: bool) -> Mapping[str, float]:
        kept, share = sampled(visits, bound, epsilon, random, popular=popular)
        noisy = measured(kept.of_places().astype(np.int64), share / bound, random)
        week = 100 * float(np.abs(kept.of_days() - days).max())
        return {**errors(noisy), "kept": kept.day.size / visits.day.size, "week": week}

    def popularity(random: Generator) -> Mapping[str, float]:
        return errors(popular_places(visits, epsilon, random))

    for name, source, estimate in rivals(visits, Visits.of_places, half):
        yield line(name, source, partial(rival, estimate), options, TOLD)
    yield line("HPA's popularity", "Fan and Jin 2015", popularity, options, "eps / 10")
    for name, popular in (("SRA", False), ("HPA", True)):
        trial = partial(own, popular=popular)
        yield line(f"dpgeo's noise, {name}", "Fan and Jin 2015", trial, options)


def rivals(
    visits: Visits, count: Callable[[Visits], Floats], epsilon: float
) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the name, source and estimate of the methods that count all visits: LPA, DFT, GS."""
    truth, most = count(visits), visits.largest()

    def similar(random: Generator) -> Floats:
        sample = count(visits.bounded(1, random))
        return grouped(truth, sample, most, epsilon, random, size=GROUP)

    yield "LPA", "Dwork et al. 2006", lambda r: laplace(truth, most, epsilon, r)
    yield "DFT", "Rastogi and Nath 2010", lambda r: fourier(truth, most, epsilon, r, kept=KEPT)
    yield "GS", "Kellaris and Papadopoulos 2013", similar


def popular_places(visits: Visits, epsilon: Fraction, random: Generator) -> Floats:
    """Return HPA's estimate of the popularity of places, from one visit of each person."""
    counts = visits.bounded(1, random).of_places().astype(np.int64)
    return np.maximum(measured(counts, epsilon * POPULARITY, random), 0)


def sampled(
    visits: Visits, bound: int, epsilon: Fraction, random: Generator, *, popular: bool
) -> tuple[Visits, Fraction]:
    """Return the visits that are kept, and the epsilon for counts of places.

    The counts by place and day (`edges`) cost as much again. Visits are kept at random (SRA in Fan
    and Jin 2015) or, if `popular` is true, those to popular places are kept (HPA).
    """
    if not popular:
        return visits.bounded(bound, random), epsilon / 2
    known = popular_places(visits, epsilon, random)
    return visits.bounded(bound, random, known), epsilon * (1 - POPULARITY) / 2
