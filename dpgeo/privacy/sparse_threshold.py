"""Sampler of the empty cells whose noise reaches a threshold.

What is drawn. A cell *passes* if its noise reaches the threshold T >= 1. Each of n cells passes
independently with probability p = P(X >= T) = a^T/(1+a), where X is discrete Laplace noise and a =
exp(-rate). If it passes, X - T is geometric: P(X - T = j) = (1-a) a^j (Cormode, Procopiuc,
Srivastava and Tran 2012, the filter of section 4). So passing cells and their values have exactly
the same distribution as if noise were added to all cells and the threshold applied, but only the
passing cells are drawn.

How passing cells are found. The tables of `sampler` cannot represent a probability as small as p.
So each cell is first made a *candidate* with a slightly larger probability q = 1 - exp(-r), where r
is a fraction: gaps between candidates are geometric with P(gap = g) = exp(-r g)(1 - exp(-r)), which
`sample_geometric` draws exactly. Each candidate then passes with probability p/q. A cell therefore
passes with probability q p/q = p, independently of all others. r = p/(1-p) (1 + 1e-6) is computed
in floating point. It is certainly above -ln(1-p), since -ln(1-p) <= p/(1-p) and rounding errors are
far below 1e-6. The code checks that p <= q again in integer arithmetic.

How the probability p/q is drawn exactly. An infinite string of random bits is compared with p/q. A
random word decides the comparison unless it equals the first 64 bits of p/q; in that case the next
64 bits of both are compared, and so on until they differ. The bits of p/q come from integer bounds
that enclose the exponentials, refined until both bounds agree. They always do, since p/q is not
rational: with y = exp(-1/N), N a common denominator of rate and r, a rational p/q would make y,
which is transcendental (Lindemann), a root of a polynomial.

The bits of random words are inverted, which does not change their distribution. As a result, no
candidate passes in tests whose random words are all 0.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import MIN_RATE, DiscreteLaplace
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.sampler import CHUNK, exp_bounds, sample_geometric

ABOVE = 1 + 1e-6
"""Factor that makes up for rounding errors in r, the rate of gaps between candidate cells.

It ensures that a cell is a candidate with a probability q that is not below p, the probability that
its noise reaches the threshold (module docstring).
"""


def sample_passing(
    noise: DiscreteLaplace, threshold: int, size: int, random: RandomWords
) -> NDArray[np.int64]:
    """Draw which of the cells 0 to `size` - 1 have noise that reaches the threshold.

    Returns the indices of these cells in ascending order. Time and memory grow with the
    number of cells that pass.
    """
    rate = candidate_rate(noise, threshold)
    candidates = sample_candidates(rate, size, random)
    return candidates[_accepted(noise.rate, threshold, rate, candidates.size, random)]


def sample_candidates(rate: Fraction, size: int, random: RandomWords) -> NDArray[np.int64]:
    """Draw which of the cells 0 to `size` - 1 are candidates, each with chance 1 - exp(-rate).

    Returns their indices in ascending order.
    """
    chunks = []
    last = -1
    while last < size:
        expected = float(rate) * (size - last)
        gaps = sample_geometric(rate, min(CHUNK, 64 + int(1.1 * expected)), random)
        # A gap of `size` or more goes beyond the last cell. Capping gaps at `size` therefore does
        # not change the result, and keeps their sums far below 2^63.
        cells = last + np.cumsum(np.minimum(gaps, size) + 1)
        chunks.append(cells[cells < size])
        last = int(cells[-1])
    return np.concatenate(chunks)


def candidate_rate(noise: DiscreteLaplace, threshold: int) -> Fraction:
    """Return r, the rate of the geometric gaps between candidate cells (module docstring).

    A cell is a candidate with probability 1 - exp(-r), just above P(X >= threshold).
    """
    chance = noise.above(threshold)
    return max(Fraction(chance / (1 - chance) * ABOVE), MIN_RATE)


def _accepted(
    rate: Fraction, threshold: int, candidate: Fraction, count: int, random: RandomWords
) -> NDArray[np.bool_]:
    """Draw whether each candidate passes; return a mask (count,).

    The probability is p/q, which is explained at `acceptance_bits`.
    """
    boundary = acceptance_bits(rate, threshold, candidate, 64)
    words = ~random.words(count)
    accepted: NDArray[np.bool_] = words < np.uint64(boundary)
    for tied in np.flatnonzero(words == np.uint64(boundary)):
        bits, string, edge = 64, boundary, boundary
        while string == edge:
            bits += 64
            string = string << 64 | int(~random.words(1)[0])
            edge = acceptance_bits(rate, threshold, candidate, bits)
        accepted[tied] = string < edge
    return accepted


@lru_cache(maxsize=256)
def acceptance_bits(rate: Fraction, threshold: int, candidate: Fraction, bits: int) -> int:
    """Compute floor(2^bits p/q) exactly.

    p = P(X >= threshold) is the chance that noise X of the given `rate` reaches the threshold,
    and q = 1 - exp(-r) the chance that a cell is a candidate, where r is `candidate`. Raises
    ArithmeticError if p is above q.
    """
    precision = bits + 192
    while True:
        one = 1 << precision
        tail, a, r = (
            exp_bounds(exponent, precision) for exponent in (rate * threshold, rate, candidate)
        )
        # p/q = exp(-rate threshold)/((1 + a)(1 - exp(-r))), every factor rounded outwards; here `r`
        # holds the bounds on exp(-r).
        least = (tail[0] << (bits + precision)) // ((one + a[1]) * (one - r[0]))
        most = (tail[1] << (bits + precision)) // ((one + a[0]) * (one - r[1]))
        if least == most:
            break
        precision *= 2
    if least >= 1 << bits:
        raise ArithmeticError("Candidates are too few: their chance is below that of passing.")
    return least
