"""Means of a value between 0 and 10 in 144 regions of very different sizes.

`error` is the median absolute error, and `rmse` the root mean square error, over the regions with
at least 100 records. Each person has one record. If dpgeo withholds a mean, the middle of the range
is used instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.averages import compose_then_perturb, perturb_then_compose
from benchmarks.literature.comparisons.own import measured_shares
from benchmarks.literature.trials import Line, Options, line
from dpgeo.core.measures import NUMBER_STEPS
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.fieller import ShareNoise

Floats = NDArray[np.float64]

REGIONS = 144
HIGH = 10.0
MIN_RECORDS = 100


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    random = np.random.default_rng(11)
    sizes = (random.pareto(1.0, REGIONS) * 60 + 1).astype(np.int64)
    level = random.uniform(1, 9, REGIONS)
    region = np.repeat(np.arange(REGIONS), sizes)
    values = np.clip(level[region] + random.normal(0, 2, region.size), 0, HIGH)
    sums = np.bincount(region, values).astype(np.float64)
    counts = sizes.astype(np.float64)
    steps = np.bincount(region, np.rint(NUMBER_STEPS * values / HIGH)).astype(np.int64)
    large, epsilon = sizes >= MIN_RECORDS, options.budget

    def errors(means: Floats) -> Mapping[str, float]:
        wrong = (means - sums / counts)[large]
        return {
            "error": float(np.median(np.abs(wrong))),
            "rmse": float(np.sqrt(np.mean(wrong**2))),
        }

    def perturbed(share: float, random: Generator) -> Mapping[str, float]:
        return errors(perturb_then_compose(sums, counts, HIGH, epsilon, random, sum_share=share))

    for share in (0.5, 0.75):
        yield line(
            f"perturb, then compose, {share:g} for sums",
            "Srivastava 2016",
            partial(perturbed, share),
            options,
        )

    def own(random: Generator) -> Mapping[str, float]:
        above, below = measured_shares(steps, counts.astype(np.int64), options.epsilon, random)
        found = ShareNoise(DiscreteLaplace(options.epsilon, NUMBER_STEPS), NUMBER_STEPS)
        shares = found.means(above, below, REGIONS).share
        return errors(HIGH * np.where(np.isnan(shares), 0.5, shares))

    yield line("dpgeo, sums above and below", "dpgeo", own, options)
    yield line(
        "compose, then perturb",
        "Srivastava 2016",
        lambda r: errors(compose_then_perturb(sums, counts, HIGH, epsilon, r)),
        options,
        "eps, if the mean of nobody is 0",
    )
