"""Ranks of noisy counts, with intervals that hold for all counts at once.

Each of n noisy counts c_i is the true (bounded) count x_i plus independent noise. Let t be the
smallest integer with 1 - (1 - P(|noise| > t))^n <= 5 %. With a probability of at least 95 %, no
noise is larger than t in absolute value, so every x_i lies between c_i - t and c_i + t. Then at
most #{j: c_j + t >= c_i - t} counts, including the i-th, are at least x_i, and at least #{j: c_j -
t > c_i + t} counts exceed it. The former number is the worst rank that place i may have, and the
latter number plus 1 is the best. All ranks, and all statements that a place is among the k busiest,
hold together, because they follow from one event.

The intervals refer to counts after contribution bounding: people who were at more places than the
bound are missing at some of them, and the intervals do not cover which places gain or lose by this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CONFIDENCE = 0.95


def joint_margin(noise: CountNoise, counts: int) -> int:
    """Return the smallest t such that, with probability 95 %, no noise is larger in size than t."""
    return noise.margin(CONFIDENCE ** (1 / max(counts, 1)))


def rank_intervals(counts: Ints, noise: CountNoise) -> tuple[Ints, Ints]:
    """Return the best and the worst rank (n,) that each noisy count (n,) may have.

    The largest count has rank 1. Equal true counts share ranks: if k counts are equal and m are
    larger, the k counts have the ranks m + 1 to m + k.
    """
    apart = 2 * joint_margin(noise, counts.size)
    ascending = np.sort(counts)
    best = 1 + counts.size - np.searchsorted(ascending, counts + apart, side="right")
    worst = counts.size - np.searchsorted(ascending, counts - apart, side="left")
    return best.astype(np.int64), worst.astype(np.int64)


def both_measured(
    counts: Ints, noise: CountNoise, pairs: Ints, pair_noise: CountNoise
) -> tuple[Floats, Floats]:
    """Return least-squares estimates (n,) for n places, and (h, n) for each place in h contexts.

    A place's estimates in the contexts add up to its own estimate. `counts` (n,) are the places'
    noisy counts, and `pairs` (h, n) those of each place in each context; without noise, the pairs
    of a place would add up to its count. The sum of a place's h pairs has h times the noise
    variance of one pair.
    """
    size = len(pairs)
    of_place, of_sum = 1 / noise.variance, 1 / (size * pair_noise.variance)
    sums = pairs.sum(axis=0)
    places = (counts * of_place + sums * of_sum) / (of_place + of_sum)
    return places, pairs + (places - sums) / size
