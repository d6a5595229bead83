"""Means of regions with noise added before or after the division of sums by counts.

The two methods are "perturb and then compose" and "compose and then perturb" of Srivastava 2016,
chapter 5. Values are in [0, high], and each person has one record.

Perturb and then compose is private: a person adds at most `high` to the sum of one region and 1 to
one count, so noise of scale high/e1 on sums and 1/e2 on counts costs epsilon = e1 + e2. The
author's result 1, that the ratio is unbiased, is false: the mean of a quotient is not the quotient
of means, and with continuous noise in the denominator, the mean of the quotient does not exist.

Compose and then perturb is not private with any finite noise scale that works for all data: the
mean of an empty region is undefined, so of two neighbouring datasets, one with a single record in
the region and one with none, only the former has an answer. If the mean of an empty region is
declared to be 0, the sensitivity is `high`, since one record can be the whole mean. The version
with this declaration is implemented here, for comparison; the author uses `high` (10) but prints no
answer for an empty region.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def perturb_then_compose(
    sums: Floats,
    counts: Floats,
    high: float,
    epsilon: float,
    random: Generator,
    *,
    sum_share: float,
) -> Floats:
    """Return means (n,) within [0, high], and high/2 for regions with a noisy count below 1.

    `sum_share` is the share of epsilon for the sums; the counts get the rest.
    """
    noisy = sums + random.laplace(0, high / (sum_share * epsilon), len(sums))
    people = counts + random.laplace(0, 1 / ((1 - sum_share) * epsilon), len(counts))
    means = np.where(people >= 1, noisy / np.maximum(people, 1), high / 2)
    return np.clip(means, 0, high)


def compose_then_perturb(
    sums: Floats, counts: Floats, high: float, epsilon: float, random: Generator
) -> Floats:
    """Return means (n,) of which each is the exact mean with Laplace noise, clipped to [0, high].

    The mean of an empty region is declared to be 0.
    """
    means = sums / np.maximum(counts, 1)
    return np.clip(means + random.laplace(0, high / epsilon, len(means)), 0, high)


def chance_of_less_noise(noise: Floats, scale: float) -> float:
    """Return the probability that n Laplace variables all stay within the largest |noise|.

    The variables have this `scale`. A tiny probability shows that the published `noise` (n,) was
    not drawn as its author claims.
    """
    return float((-math.expm1(-float(np.abs(noise).max()) / scale)) ** len(noise))
