"""Which of 1,024 cells reach the count of the 20th busiest: the 20 busiest, and any ties.

Cells are queried in a random order, which is public. `precision` and `recall` are the usual
measures for the cells that a system reports, and `f1` is their harmonic mean. If a file is
given, people are spread as in its square .npy array of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.literature.comparisons.own import counts_of, measured
from benchmarks.literature.thresholds import above_threshold, noiseless_queries, noisy_counts
from benchmarks.literature.trials import Line, Options, line

Mask = NDArray[np.bool_]

CELLS = 32
PEOPLE = 10_000
SOUGHT = 20


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    order = np.random.RandomState(7).permutation(CELLS**2)
    whole = counts_of(options.file, CELLS, PEOPLE).ravel()[order]
    counts, epsilon = whole.astype(np.float64), options.budget
    threshold = float(np.sort(counts)[-SOUGHT])
    truth = counts >= threshold

    def errors(above: Mask) -> Mapping[str, float]:
        right = float((above & truth).sum())
        return {
            "precision": right / max(int(above.sum()), 1),
            "recall": right / int(truth.sum()),
            "f1": 2 * right / float(above.sum() + truth.sum()),
        }

    yield line(
        "sparse vector",
        "Lyu et al. 2017",
        lambda r: errors(above_threshold(counts, threshold, SOUGHT, epsilon, r)),
        options,
    )
    yield line(
        "sparse vector, counts only grow",
        "Lyu et al. 2017",
        lambda r: errors(above_threshold(counts, threshold, SOUGHT, epsilon, r, one_way=True)),
        options,
    )
    yield line(
        "sparse vector without noise on counts",
        "Stoddard et al. 2014",
        lambda r: errors(noiseless_queries(counts, threshold, epsilon, r)),
        options,
        "none",
    )
    yield line(
        "noise on all counts",
        "Dwork et al. 2006",
        lambda r: errors(noisy_counts(counts, threshold, epsilon, r)),
        options,
    )
    yield line(
        "dpgeo, cells of a grid",
        "dpgeo",
        lambda r: errors(measured(whole, options.epsilon, r) >= threshold),
        options,
    )
