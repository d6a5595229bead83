"""Tail bounds that hold for every sample size, and how much the audits run.

`make test-all` runs a quick audit under fixed seeds. DPGEO_AUDIT=1 runs ten times as much under
seeds from the operating system.
"""

from __future__ import annotations

import math
import os

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

EFFORT = 10 if AUDIT else 1
"""How many times more is drawn than in the quick audit."""

LOG_FALSE_ALARM = math.log(1e-11)
"""One comparison fails by chance less often than this; a hundred of them less often than 1e-9."""


def seed(fixed: int) -> int:
    """This seed, or in a full audit one of the operating system's."""
    return int.from_bytes(os.urandom(16)) if AUDIT else fixed


def log_chi_square_tail(statistic: float, freedom: int) -> float:
    """An upper bound on log P(chi-square of `freedom` degrees >= statistic), by Chernoff."""
    ratio = statistic / freedom
    return 0.0 if ratio <= 1 else freedom / 2 * (math.log(ratio) + 1 - ratio)


def least_chance(share: float, trials: int) -> float:
    """A lower confidence bound on the probability of what came up in this share of the trials.

    Wrong with at most exp(LOG_FALSE_ALARM): P(such a share or more) <= exp(-trials KL(share || p))
    for p below the share (Chernoff).
    """
    low, high = 0.0, share
    for _ in range(40):
        middle = (low + high) / 2
        if -trials * _divergence(share, middle) < LOG_FALSE_ALARM:
            low = middle
        else:
            high = middle
    return low


def greatest_chance(share: float, trials: int) -> float:
    """The upper bound that goes with `least_chance`."""
    return 1 - least_chance(1 - share, trials)


def _divergence(share: float, chance: float) -> float:
    """Kullback-Leibler divergence of two coins."""
    if chance <= 0 or chance >= 1:
        return 0.0 if share == chance else math.inf
    total = share * math.log(share / chance) if share > 0 else 0.0
    if share < 1:
        total += (1 - share) * math.log((1 - share) / (1 - chance))
    return total
