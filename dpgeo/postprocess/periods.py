"""Counts of the same regions in several periods: smoothed counts, and significant changes.

Everything is computed from published counts, so it costs no privacy.

Smoothing. A region's count without noise, called its level, is modelled as changing from period to
period by a random step of variance q = DRIFT times the mean level so far, and is observed with
noise of known variance v (the local-level model; Harvey 1989, chapter 4). The Kalman filter then
estimates each period's level from the counts of that period and the earlier ones: if P is the
variance of the predicted level, the new count gets the weight P / (P + v). Later periods are not
used, so a smoothed map never changes once it is published. A smoothed count follows a sudden change
with a delay, so no margin is given for its error.

Changes. The difference of two counts of a region that did not change is X - Y for two independent
noises of the same distribution, of which P(|X - Y| > c) has a closed form. A change stands out if
it is larger than the smallest c with which n P(|X - Y| > c) <= CHANCE for n regions: by the union
bound, in 19 of 20 comparisons of maps between which nothing changed, no region stands out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise

DRIFT = 0.05
"""Variance of the random step from one period to the next, as a share of the mean level so far."""

MIN_DRIFT = 0.01
"""Smallest variance of the step from one period to the next, used for nearly empty regions."""

CHANCE = 0.05
"""Largest probability that any region stands out between two maps if no region changed."""


def smoothed(
    counts: NDArray[np.float64], variance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return smoothed counts, never negative, and their standard deviations in the model.

    They are the levels of the module docstring, and depend on the counts of their period and of
    earlier ones. `counts` (periods, ...) are noisy counts, each with noise of variance `variance`.
    """
    level, total = np.zeros(counts.shape[1:]), np.zeros(counts.shape[1:])
    doubt = np.full(counts.shape[1:], variance)
    levels, deviations = np.empty(counts.shape), np.empty(counts.shape)
    for period, seen in enumerate(counts):
        total += seen
        moved = doubt + np.maximum(DRIFT * np.maximum(total / (period + 1), 0), MIN_DRIFT)
        gain = np.ones_like(level) if period == 0 else moved / (moved + variance)
        level = level + gain * (seen - level)
        doubt = gain * variance
        levels[period], deviations[period] = np.maximum(level, 0), np.sqrt(doubt)
    return levels, deviations


def largest_by_noise(noise: CountNoise, regions: int) -> int:
    """Return the largest difference of two counts that noise alone may cause in any of n regions.

    A difference larger than this stands out. If nothing changed, the probability that any of the n
    regions stands out is at most CHANCE.
    """
    low, high = -1, 1
    while regions * noise.difference_beyond(high) > CHANCE:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if regions * noise.difference_beyond(middle) > CHANCE else (low, middle)
        )
    return high
