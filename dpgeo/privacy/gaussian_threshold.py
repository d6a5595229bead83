"""Sampler of the empty cells whose discrete Gaussian noise reaches a threshold, and of that noise.

What is drawn. A cell *passes* if its noise X reaches the threshold T >= 1. Each of n cells passes
independently with probability p = P(X >= T) = A/Z, where A is the sum of exp(-k^2/(2 s)) over k >=
T, Z the sum over all integers, and s the noise's variance parameter. If it passes, X has its
distribution given X >= T. So passing cells and their values have exactly the same distribution as
if noise were added to all cells and the threshold applied, but only the passing cells are drawn.

How passing cells are found: as in `privacy.sparse_threshold`. Each cell is first made a *candidate*
with a slightly larger probability q = 1 - exp(-r), by gaps that are exactly geometric, and each
candidate then passes with probability p/q. r is computed in floating point; integer arithmetic
checks that p <= q. A string of random bits is compared with p/q (`gaussian_sampler.is_below`),
whose bounds come from integer bounds on every term of A and Z. Terms are added until they are below
the precision; the rest of a sum from k on is at most its first term divided by 1 - exp(-(2 k +
1)/(2 s)), since every further quotient of terms is smaller.

How a value is drawn. P(X = T + j | X >= T) is proportional to exp(-j T/s) exp(-j^2/(2 s)). So draw
j from the geometric distribution of rate T/s, and accept it with probability exp(-j^2/(2 s)),
exactly as `gaussian_sampler` accepts its proposals.

The bits of the first random word of a comparison with p/q are inverted, which does not change its
distribution. As a result, no candidate passes in tests whose random words are all 0.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import MIN_RATE, DiscreteGaussian
from dpgeo.privacy.gaussian_sampler import (
    TABLE_SCALES,
    acceptance_table,
    accepted_values,
    is_below,
    proposal_scale,
)
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.sampler import Bounds, exp_bounds, sample_geometric
from dpgeo.privacy.sparse_threshold import ABOVE, sample_candidates

MAX_SCALE = 1 << 13
"""Largest standard deviation of the noise.

At this limit, computing the sums A and Z of the module docstring takes seconds.
"""


def check_scale(noise: DiscreteGaussian) -> None:
    """Raise InvalidInput if the scale of the noise is above MAX_SCALE."""
    if noise.square_scale > MAX_SCALE**2:
        raise InvalidInput(
            "Is too small for a list of cells with this bound: raise epsilon or lower the bound.",
            field="epsilon",
        )


def sample_passing(
    noise: DiscreteGaussian, threshold: int, size: int, random: RandomWords
) -> NDArray[np.int64]:
    """Draw which of the cells 0 to `size` - 1 have noise that reaches the threshold.

    Returns the indices of these cells in ascending order. Time and memory grow with the number of
    cells that pass. Raises InvalidInput, before anything is drawn, if the noise is too large.
    """
    check_scale(noise)
    chance = noise.above(threshold)
    rate = max(Fraction(chance / (1 - chance) * ABOVE), MIN_RATE)
    low, high = _passing_bounds(noise.square_scale, threshold, rate, 64)
    candidates = sample_candidates(rate, size, random)
    words = ~random.words(candidates.size)
    # `low` and `high` enclose 2^64 p/q. They fit 64 bits, since p/q is below 1. A word between them
    # is not enough to decide; `is_below` then draws more bits.
    passing: NDArray[np.bool_] = words < np.uint64(low)
    for position in np.flatnonzero(~passing & (words <= np.uint64(high))).tolist():
        passing[position] = is_below(
            int(words[position]),
            lambda bits: _passing_bounds(noise.square_scale, threshold, rate, bits),
            random,
        )
    return candidates[passing]


def sample_beyond(
    noise: DiscreteGaussian, threshold: int, size: int, random: RandomWords
) -> NDArray[np.int64]:
    """Draw `size` independent values of noise given that it reaches `threshold`, int64."""
    scale = proposal_scale(noise.square_scale)
    table = acceptance_table(noise.square_scale, Fraction(0), TABLE_SCALES * scale)
    rate = threshold / noise.square_scale

    def propose(count: int) -> NDArray[np.int64]:
        proposals = sample_geometric(rate, count, random)
        return proposals[table.accepts(proposals, random)]

    return threshold + accepted_values(propose, size)


@lru_cache(maxsize=64)
def _passing_bounds(square_scale: Fraction, threshold: int, rate: Fraction, bits: int) -> Bounds:
    """Return integer bounds on 2^bits p/q, for p and q of the module docstring.

    p = A/Z is the chance that a cell's noise reaches the threshold, and q the chance that the cell
    is a candidate. Raises ArithmeticError if p may be above q.
    """
    # The rounding error grows with the square of the number of terms, and there are about 20 terms
    # for each unit of the noise scale.
    precision = (
        bits + 64 + isqrt(int(square_scale)).bit_length() + _tail_bits(square_scale, threshold)
    )
    one = 1 << precision
    tail = _sum_from(square_scale, threshold, precision)
    upper = _sum_from(square_scale, 1, precision)
    gap = exp_bounds(rate, precision)
    low = (tail[0] << (precision + bits)) // ((one + 2 * upper[1]) * (one - gap[0]))
    high = -(-(tail[1] << (precision + bits)) // ((one + 2 * upper[0]) * (one - gap[1])))
    if high >= 1 << bits:
        raise ArithmeticError("Candidates are too few: their chance is below that of passing.")
    return low, high


def _tail_bits(square_scale: Fraction, threshold: int) -> int:
    """Return about how many zero bits follow the binary point of A (module docstring)."""
    return int(threshold**2 / (2 * square_scale) * 3 / 2) + 1


def _sum_from(square_scale: Fraction, first: int, precision: int) -> Bounds:
    """Return integer bounds on 2^precision times the sum of exp(-k^2/(2 s)) over k >= first.

    `first` is at least 1.
    """
    term = exp_bounds(first * first / (2 * square_scale), precision)
    quotient = exp_bounds((2 * first + 1) / (2 * square_scale), precision)
    factor = exp_bounds(1 / square_scale, precision)
    low = high = 0
    while term[0]:
        low, high = low + term[0], high + term[1]
        term = term[0] * quotient[0] >> precision, -(-term[1] * quotient[1] >> precision)
        quotient = quotient[0] * factor[0] >> precision, -(-quotient[1] * factor[1] >> precision)
    rest = -(-(term[1] << precision) // ((1 << precision) - quotient[1]))
    return low, high + rest
