"""Errors and coverage of medians and quartiles by region, from noisy histograms."""

from __future__ import annotations

import argparse
import dataclasses
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.averages import LARGE, SMALL, add_source, view_of
from benchmarks.report import report
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.mechanisms import quartiles
from dpgeo.postprocess.quantiles import MEDIAN, QUARTILES, HistogramNoise
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy
from tests.views import ArrayView

Floats = NDArray[np.float64]

SETTINGS = ((5, "0.5"), (5, "1"), (5, "2"), (20, "1"), (20, "2"))
"""Settings that are measured: pairs of a contribution bound and an epsilon."""

SILENT = DiscreteLaplace(Fraction(10**6), 1)
"""Noise so small that it is practically absent, to compute quartiles of true counts."""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `quartiles` to the command line."""
    parser = subcommands.add_parser("quartiles", help=__doc__)
    add_source(parser)
    parser.add_argument("--bins", type=int, default=50)
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line of figures for each contribution bound and epsilon in SETTINGS."""
    view = view_of(options)
    for bound, epsilon in SETTINGS:
        figures: dict[str, list[Any]] = defaultdict(list)
        for number in range(options.trials):
            bounded = dataclasses.replace(view, bound=bound, salt=number + 1)
            trial(bounded, options, epsilon, number, figures)
        line: dict[str, Any] = {"bound": bound, "epsilon": epsilon}
        line |= {
            name: float((np.median if name.startswith("median") else np.mean)(values))
            for name, values in ((name, np.concatenate(each)) for name, each in figures.items())
            if values.size
        }
        report(line, options.json)


def trial(
    view: ArrayView,
    options: argparse.Namespace,
    epsilon: str,
    number: int,
    figures: dict[str, list[Any]],
) -> None:
    """Append the errors of one release of `view`, and its intervals' coverage, to `figures`."""
    (measured,) = view.measures
    grid, bins = Grid.over(view.area, options.cells), options.bins
    counts = view.value_histogram(grid, measured, bins)._read_by_meter().reshape(-1, bins)
    fine = view.value_histogram(grid, measured, measured.steps)._read_by_meter()
    truth = exact(fine.reshape(-1, measured.steps))
    params = quartiles.Params(cells=options.cells, bins=bins)
    drawn = run(quartiles.MECHANISM, view, params, Fraction(epsilon), SeededEntropy(number), {})
    content: Any = drawn.content
    noisy, noise = content.counts.reshape(-1, bins), HistogramNoise(content.noise, bins)
    found = noise.quartiles(noisy, grid.size)
    spread = HistogramNoise(SILENT, bins).quartiles(counts, 1).share
    records, scale = counts.sum(axis=1), measured.high - measured.low
    error = np.abs(found.share - truth)[:, MEDIAN] * scale
    width = (found.high - found.low)[:, MEDIAN] * scale
    large = (records >= LARGE) & found.told
    figures["median error"].append(error[large])
    figures["median width"].append(width[large])
    figures["told of large"].append(found.told[records >= LARGE])
    figures["told without a record"].append(found.told[records == 0])
    for column, p in enumerate(QUARTILES):
        some = (records >= SMALL) & ~np.isnan(spread[:, column])
        figures[f"test passed, {p}"].append(noise.covers(noisy[some], p, spread[some, column]))
        told = ~np.isnan(found.low[:, column])
        held = (found.low[:, column] <= truth[:, column]) & (
            truth[:, column] <= found.high[:, column]
        )
        figures[f"interval holds, {p}"].append(held[told & (records > 0)])


def exact(fine: NDArray[np.int64]) -> Floats:
    """Return the exact quartiles (n, 3) from counts (n, K) by step, as shares of the range.

    The K steps divide the range of the measure evenly. A quartile is the smallest step such that at
    least 1/4, 1/2 or 3/4 of the records are not above it.
    """
    below = fine.cumsum(axis=1)
    least = np.array(QUARTILES)[:, None] * below[:, -1]
    reached = below[None] >= np.maximum(least, 1)[..., None]
    return np.asarray(reached.argmax(axis=2).T / fine.shape[1])
