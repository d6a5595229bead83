"""Strategies of the matrix mechanism for all ranges of 64 bins: expected errors, without data.

`expected_error` is the root of the expected mean squared error over all 2,080 ranges.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.literature.strategies import STRATEGIES, all_ranges, expected_error
from benchmarks.literature.trials import Line, Options
from benchmarks.peers import box_strategy

BINS = 64


def compare(options: Options) -> Iterator[Line]:
    """Yield one line of output per strategy, with its expected error on all ranges of bins."""
    workload = all_ranges(BINS)
    strategies = {name: (make(BINS), "Li et al. 2015") for name, make in STRATEGIES.items()}
    strategies["HDMM"] = (box_strategy(BINS), "McKenna et al. 2018")
    for name, (strategy, source) in strategies.items():
        error = expected_error(workload, strategy, options.budget)
        yield {"system": name, "source": source, "promise": "eps", "expected_error": error}
    # dpgeo's zones and grids publish a noisy count of every bin, so their strategy is the identity
    # matrix. `ratio` is the standard deviation of discrete Laplace noise, divided by the standard
    # deviation of the continuous Laplace noise that `expected_error` assumes.
    decay = np.exp(-options.budget)
    ratio = np.sqrt(decay) / (1 - decay) * options.budget
    error = float(ratio) * expected_error(workload, np.eye(BINS), options.budget)
    yield {"system": "dpgeo, zones", "source": "dpgeo", "promise": "eps", "expected_error": error}
