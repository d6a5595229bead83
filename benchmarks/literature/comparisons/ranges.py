"""Range counts in one dimension: 1,000 random ranges within 256 bins, a map's columns.

`range_error` is the mean absolute error of a range, and `bin_error` the root mean square error of a
bin. If a file is given, people are spread as in its square .npy array of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.comparisons.own import counts_of, measured
from benchmarks.literature.histograms import clustered, identity, noise_first, structure_first
from benchmarks.literature.strategies import answered, binary_tree
from benchmarks.literature.trials import Line, Options, line
from benchmarks.literature.wavelets import privelet
from benchmarks.literature.weights import mwem, pmw

Floats = NDArray[np.float64]

BINS = 256
PEOPLE = 10_000
QUERIES = 1000
PARTS = 16
"""Number of parts into which StructureFirst divides the bins."""

MAX_COUNT = 200.0
"""Public limit on a bin's count, which StructureFirst needs."""

ROUNDS = 10
"""Number of rounds of MWEM and of updates of PMW."""


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    whole = counts_of(options.file, BINS, PEOPLE).sum(axis=0)
    counts = whole.astype(np.float64)
    ends = np.sort(np.random.RandomState(7).randint(0, BINS, (QUERIES, 2)), axis=1)
    place = np.arange(BINS)
    queries = ((place >= ends[:, :1]) & (place <= ends[:, 1:])).astype(np.float64)
    tree, epsilon = binary_tree(BINS), options.budget

    def errors(estimate: Floats) -> Mapping[str, float]:
        return {
            "range_error": float(np.abs(queries @ (estimate - counts)).mean()),
            "bin_error": float(np.sqrt(np.mean((estimate - counts) ** 2))),
        }

    def one_by_one(random: Generator) -> Mapping[str, float]:
        threshold = 2 * ROUNDS * np.log(QUERIES) / epsilon
        answers = pmw(counts, queries, epsilon, random, updates=ROUNDS, threshold=float(threshold))
        return {"range_error": float(np.abs(answers - queries @ counts).mean())}

    yield line(
        "Laplace", "Dwork et al. 2006", lambda r: errors(identity(counts, epsilon, r)), options
    )
    yield line(
        "NoiseFirst", "Xu et al. 2013", lambda r: errors(noise_first(counts, epsilon, r)), options
    )
    yield line(
        "StructureFirst",
        "Xu et al. 2013",
        lambda r: errors(structure_first(counts, epsilon, r, parts=PARTS, most=MAX_COUNT)),
        options,
    )
    yield line("AHP", "Zhang et al. 2014", lambda r: errors(clustered(counts, epsilon, r)), options)
    yield line(
        "Privelet", "Xiao et al. 2010", lambda r: errors(privelet(counts, epsilon, r)), options
    )
    yield line(
        "binary tree, consistent",
        "Hay et al. 2010; Li et al. 2015",
        lambda r: errors(answered(counts, tree, epsilon, r)),
        options,
    )
    yield line(
        "MWEM",
        "Hardt et al. 2012",
        lambda r: errors(mwem(counts, queries, epsilon, r, rounds=ROUNDS)),
        options,
    )
    yield line("PMW", "Hardt and Rothblum 2010", one_by_one, options)
    yield line(
        "dpgeo, zones", "dpgeo", lambda r: errors(measured(whole, options.epsilon, r)), options
    )
