"""Regression lines through 5,000 points in the square from -1 to 1.

`line_error` is the root mean square difference from the least-squares line, over the square.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.comparisons.own import heatmap
from benchmarks.literature.regression import (
    functional_mechanism,
    least_squares,
    simplex_regression,
)
from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]

POINTS = 5_000
CELLS = 32
SOURCE_SENSITIVITY = 16.0


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    random = np.random.default_rng(11)
    x = random.uniform(-1, 1, POINTS)
    y = np.clip(0.2 + 0.5 * x + random.normal(0, 0.2, POINTS), -1, 1)
    best, epsilon = least_squares(x[:, None], y), options.budget
    edges = np.linspace(-1, 1, CELLS + 1)
    counts = np.histogram2d(y, x, bins=(edges, edges))[0].astype(np.int64)
    down, across = (each.ravel() for each in np.meshgrid(*[(edges[1:] + edges[:-1]) / 2] * 2)[::-1])

    def errors(found: Floats) -> Mapping[str, float]:
        # x is uniform in [-1, 1], so its mean square is 1/3.
        intercept, slope = found - best
        return {"line_error": float(np.sqrt(intercept**2 + slope**2 / 3))}

    def by_map(random: Generator) -> Mapping[str, float]:
        weight = heatmap("auto", counts, options.epsilon, random).ravel()
        return errors(least_squares(across[:, None], down, weight))

    yield line(
        "functional mechanism, sensitivity 8",
        "Zhang et al. 2012",
        lambda r: errors(functional_mechanism(x[:, None], y, epsilon, r)),
        options,
    )
    yield line(
        "functional mechanism, sensitivity 16",
        "Srivastava 2016",
        lambda r: errors(
            functional_mechanism(x[:, None], y, epsilon, r, sensitivity=SOURCE_SENSITIVITY)
        ),
        options,
    )
    yield line(
        "six sums of a simplex, sensitivity 1",
        "dpgeo",
        lambda r: errors(simplex_regression(x, y, epsilon, r)),
        options,
    )
    yield line("dpgeo, least squares on a map (auto)", "dpgeo", by_map, options)
