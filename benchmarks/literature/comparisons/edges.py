"""Visits by place and day of the week, the edge counts of Fan and Jin 2015.

Half of epsilon pays for them, and half for counts by place (`venues`).

`rmse` and `kl` are over all pairs of a place and a day, and `top_10` is the share of the ten
busiest places of a day that is found, averaged over the days. A file of visits, if given,
is Parquet with columns user, minute, and poi or lon and lat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.distributions import divergence, precision_at
from benchmarks.literature.comparisons.own import measured
from benchmarks.literature.comparisons.venues import BOUND, TOLD, Estimate, rivals, sampled
from benchmarks.literature.trials import Line, Options, line
from benchmarks.literature.visits import DAYS, Visits, read

Floats = NDArray[np.float64]

TOP = 10


def compare(options: Options, bound: int = BOUND) -> Iterator[Line]:
    """Yield a line of mean errors for each method; `bound` is the contribution bound l."""
    visits = read(options.file)
    truth = visits.of_edges()

    def errors(estimate: Floats) -> Mapping[str, float]:
        pairs = zip(truth.reshape(-1, DAYS).T, estimate.reshape(-1, DAYS).T, strict=True)
        return {
            "rmse": float(np.sqrt(np.mean((estimate - truth) ** 2))),
            "kl": divergence(truth, estimate),
            "top_10": float(np.mean([precision_at(true, told, TOP) for true, told in pairs])),
        }

    def rival(estimate: Estimate, random: Generator) -> Mapping[str, float]:
        return errors(estimate(random))

    def own(random: Generator, *, popular: bool) -> Mapping[str, float]:
        kept, share = sampled(visits, bound, options.epsilon, random, popular=popular)
        return errors(measured(kept.of_edges().astype(np.int64), share / bound, random))

    for name, source, estimate in rivals(visits, Visits.of_edges, options.budget / 2):
        yield line(name, source, partial(rival, estimate), options, TOLD)
    for name, popular in (("SRA", False), ("HPA", True)):
        trial = partial(own, popular=popular)
        yield line(f"dpgeo's noise, {name}", "Fan and Jin 2015", trial, options)
