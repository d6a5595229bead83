"""Ranks of noisy counts, with intervals that hold for all counts at once.

Let every one of n noisy counts c_i be the true (bounded) count x_i plus independent noise, and let
t be the least whole number with 1 - (1 - P(|noise| > t))^n <= 5 %. With a probability of at least
95 %, no noise is beyond t, so every x_i lies between c_i - t and c_i + t. Then at most #{j: c_j + t
>= c_i - t} counts (i among them) are at least x_i, and at least #{j: c_j - t > c_i + t} exceed it.
So place i is surely among the first of that many, and surely behind as many others. Both hold for
all places and all k of "among the k busiest" together, because they follow from one event.

The intervals are about counts as bounded: whoever was at more places than the bound was left out of
some, and which places that favours is not in them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CONFIDENCE = 0.95


def joint_margin(noise: DiscreteLaplace, counts: int) -> int:
    """Return the least t such that all of `counts` noises are within t at once, at least 95 %."""
    return noise.margin(CONFIDENCE ** (1 / max(counts, 1)))


def rank_intervals(counts: Ints, noise: DiscreteLaplace) -> tuple[Ints, Ints]:
    """Return the best and the worst rank (n,) that each noisy count (n,) may have, 1 the largest.

    Equal true counts share ranks: k equal ones behind m larger have the ranks from m + 1 to m + k.
    """
    apart = 2 * joint_margin(noise, counts.size)
    ascending = np.sort(counts)
    best = 1 + counts.size - np.searchsorted(ascending, counts + apart, side="right")
    worst = counts.size - np.searchsorted(ascending, counts - apart, side="left")
    return best.astype(np.int64), worst.astype(np.int64)


def both_measured(
    counts: Ints, noise: DiscreteLaplace, pairs: Ints, pair_noise: DiscreteLaplace
) -> tuple[Floats, Floats]:
    """Return the least squares of places (n,) and of their pairs (h, n), which add up to them.

    `counts` (n,) and `pairs` (h, n) are noisy counts of one sample, in which the pairs of a place
    add up to it. The variance of the sum of a place's pairs is h times that of one.
    """
    size = len(pairs)
    of_place, of_sum = 1 / noise.variance, 1 / (size * pair_noise.variance)
    sums = pairs.sum(axis=0)
    places = (counts * of_place + sums * of_sum) / (of_place + of_sum)
    return places, pairs + (places - sums) / size
