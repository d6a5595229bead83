"""Tail bounds that hold for every sample size, and the number of runs of the audits.

`make test-all` runs a quick audit with fixed seeds. With DPGEO_AUDIT=1 there are ten times as many
runs, and the seeds come from the operating system.
"""

from __future__ import annotations

import math
import os

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
