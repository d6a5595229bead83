"""Tail bounds that hold for every sample size, and the number of runs of the audits.

`make test-all` runs a quick audit with fixed seeds. With DPGEO_AUDIT=1 there are ten times as many
runs, and the seeds come from the operating system.
"""

from __future__ import annotations

import math
import os

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

EFFORT = 10 if AUDIT else 1
"""Number of draws, as a multiple of the number in the quick audit."""

LOG_FALSE_ALARM = math.log(1e-11)
"""Log of the probability of a false alarm in one comparison. In a hundred comparisons together, the
probability is at most 1e-9.
"""


def seed(fixed: int) -> int:
    """Return the fixed seed or, in a full audit, a seed from the operating system."""
    return int.from_bytes(os.urandom(16)) if AUDIT else fixed


def log_chi_square_tail(statistic: float, freedom: int) -> float:
    """Return an upper bound on log P(chi-square of `freedom` degrees >= statistic), by Chernoff."""
    ratio = statistic / freedom
    return 0.0 if ratio <= 1 else freedom / 2 * (math.log(ratio) + 1 - ratio)


MIN_EXPECTED = 50
"""Smallest expected number of draws in a class; it makes the chi-square law accurate far into its
tail.
"""


def counted_in(edges: Ints, draws: Ints) -> Ints:
    """Return how many draws are in each of the classes between these edges."""
    return np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)


def log_misfit(draws: Ints, edges: Ints, chances: NDArray[np.float64]) -> float:
    """Return an upper bound on the log probability that draws fit as badly as these do.

    A draw is less than each of `edges` with the probability in `chances`.
    """
    expected = draws.size * np.diff(chances, prepend=0.0, append=1.0)
    assert expected.min() >= MIN_EXPECTED / 2
    statistic = float(((counted_in(edges, draws) - expected) ** 2 / expected).sum())
    return log_chi_square_tail(statistic, edges.size)


def log_two_samples(first: Ints, second: Ints, edges: Ints) -> float:
    """Return an upper bound on the log probability that samples of one law differ this much."""
    seen = [counted_in(edges, draws) for draws in (first, second)]
    both = seen[0] + seen[1]
    share = [part.sum() / both.sum() * both for part in seen]
    statistic = sum(
        float(((part - expected) ** 2 / expected).sum())
        for part, expected in zip(seen, share, strict=True)
    )
    return log_chi_square_tail(statistic, edges.size)


def log_pairs(first: Ints, second: Ints, classes: int) -> float:
    """Return an upper bound on the log probability that pairs are so uneven by chance.

    Pairs of independent numbers are counted in a table; the bound is for its chi-square statistic.
    """
    table = np.bincount(first * classes + second, minlength=classes**2).reshape(classes, classes)
    expected = table.sum(1)[:, None] * table.sum(0)[None, :] / first.size
    assert expected.min() >= MIN_EXPECTED
    statistic = float(((table - expected) ** 2 / expected).sum())
    return log_chi_square_tail(statistic, (classes - 1) ** 2)
