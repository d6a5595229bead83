"""Sizes of bins without their positions: 256 sorted counts, which say how busy the busiest are.

`size_error` is the root mean square error of a sorted count. If a file is given, people are
spread as in its square .npy array of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.literature.comparisons.own import counts_of, measured
from benchmarks.literature.histograms import identity, sorted_counts
from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]

CELLS = 16
PEOPLE = 2_000


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    whole = counts_of(options.file, CELLS, PEOPLE).ravel()
    truth, epsilon = np.sort(whole.astype(np.float64)), options.budget

    def errors(estimate: Floats) -> Mapping[str, float]:
        return {"size_error": float(np.sqrt(np.mean((estimate - truth) ** 2)))}

    yield line(
        "Laplace on sorted counts",
        "Dwork et al. 2006",
        lambda r: errors(identity(truth, epsilon, r)),
        options,
    )
    yield line(
        "sorted and consistent",
        "Hay et al. 2010",
        lambda r: errors(sorted_counts(truth, epsilon, r)),
        options,
    )
    yield line(
        "dpgeo, a grid's cells sorted",
        "dpgeo",
        lambda r: errors(np.sort(measured(whole, options.epsilon, r))),
        options,
    )
