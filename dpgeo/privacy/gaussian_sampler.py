"""Exact discrete Gaussian sampler.

What is drawn. For a rational variance parameter s > 0, an integer X with P(X = k) = exp(-k^2/(2 s))
divided by the sum of exp(-j^2/(2 s)) over all integers j (Canonne, Kamath and Steinke 2020, "The
discrete Gaussian for differential privacy", algorithm 3).

How it is drawn. Let t = floor(sqrt(s)) + 1. Draw a proposal Y from discrete Laplace noise of rate
1/t with `privacy.sampler`, which is exact. Accept it with the probability p(Y) = exp(-g(|Y|)),
where g(y) = (y - s/t)^2 / (2 s); otherwise draw a new proposal. The probability that a proposal
equals k and is accepted is proportional to exp(-|k|/t) exp(-(k^2 - 2 |k| s/t + s^2/t^2)/(2 s)) =
exp(-k^2/(2 s)) exp(-s/(2 t^2)). The last factor is the same for every k, so an accepted proposal
has the distribution of X. (This holds for any t; the choice above accepts about half to three
quarters of all proposals.) Proposals are independent of each other, so the accepted ones, in the
order in which they are drawn, are independent values of X. The first ones of that sequence are
returned. How many proposals are made at a time depends on how many values are still missing, thus
on earlier proposals alone, and changes nothing about later ones.

How a proposal is accepted. It is accepted if u < p(Y), where u in [0, 1) is an infinite string of
random bits. A table holds, for every |Y| up to 14 t, two 64-bit words that enclose the first 64
bits of p(Y). They come from integer bounds on exponentials, which are rounded outwards at every
step. A random word below the lower one means that u < p(Y); a word above the upper one means that u
> p(Y). If the word is neither, or |Y| is not in the table, more bits of u and tighter bounds on
p(Y) are computed until one of both is certain. That happens with probability 1: bounds of b bits
leave it open only while u is within about 2^-b of p(Y). No floating-point number takes part. If t
is large, one entry of the table serves several neighbouring values of |Y|; its words then enclose p
at all of them, and about one proposal in a few thousand needs the exact comparison.

Privacy argument. Let v and v' be integer vectors with sum (v_i - v'_i)^2 <= D2, and let X_i be
independent with s = D2/(2 rho). Then v + X is rho-zCDP (Bun and Steinke 2016): for every order a >
1, the Renyi divergence of v + X from v' + X is at most a rho. Proof: for one coordinate with
integers m and n, and Z the sum of exp(-j^2/(2 s)),

    sum_x P(m + X = x)^a P(n + X = x)^(1-a) = (1/Z) sum_x exp(-(a (x-m)^2 + (1-a) (x-n)^2)/(2 s))
        = exp(a (a-1) (m-n)^2/(2 s)) (1/Z) sum_x exp(-(x-c)^2/(2 s)),    c = a m + (1-a) n.

By Poisson's summation formula, the last sum is sqrt(2 pi s) sum_k exp(-2 pi^2 s k^2) cos(2 pi k c).
All its coefficients are positive, so it is at most its value at c = 0, which is Z. The logarithm,
divided by a - 1, is therefore at most a (m-n)^2/(2 s). Divergences of independent coordinates add
up, so the whole vector's is at most a D2/(2 s) = a rho. Sums of counts and noise wrap modulo 2^64,
which is post-processing. (A proposal that wraps would not be: at the largest scale, 2^40, one
reaches 2^63 with probability exp(-2^23), which no number of draws will ever meet.) The uniform bits
are the words of a cipher under a secret key, which is assumed to be secure. How long a draw takes
depends on the noise, so the timings of releases are kept private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import floor, isqrt

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.privacy import sampler
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.sampler import Bounds, exp_bounds

TABLE_SCALES = 14
"""Largest absolute value in a table of acceptance probabilities, in units of the proposals' scale.

One proposal in a million exceeds it, and is decided without the table.
"""

MAX_TABLE_LENGTH = 1 << 16
"""Largest number of entries in a table of acceptance probabilities."""

PRECISION = 192
"""Number of binary digits with which the bounds for a table are computed.

Their rounding error grows with the square of the table's length, to at most about 2^36 units of the
last digit. So the first 64 digits are certain for almost every entry.
"""

MAX_WORD = (1 << 64) - 1


def sample(noise: DiscreteGaussian, size: int, random: RandomWords) -> NDArray[np.int64]:
    """Draw `size` independent values of discrete Gaussian noise, int64."""
    scale = proposal_scale(noise.square_scale)
    proposal = DiscreteLaplace(Fraction(1, scale), 1)
    table = acceptance_table(noise.square_scale, noise.square_scale / scale, TABLE_SCALES * scale)

    def propose(count: int) -> NDArray[np.int64]:
        proposals = sampler.sample(proposal, count, random)
        return proposals[table.accepts(np.abs(proposals), random)]

    return accepted_values(propose, size)


def proposal_scale(square_scale: Fraction) -> int:
    """Return the scale of the proposals, the integer floor(sqrt(square_scale)) + 1."""
    return isqrt(floor(square_scale)) + 1


def accepted_values(propose: Callable[[int], NDArray[np.int64]], size: int) -> NDArray[np.int64]:
    """Return the first `size` accepted values, in the order in which they were proposed.

    `propose(count)` makes `count` proposals and returns those that are accepted.
    """
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        missing = size - filled
        accepted = propose(min(sampler.CHUNK, 2 * missing + 8))[:missing]
        drawn[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class AcceptanceTable:
    """Bounds on the probability p(y) = exp(-(y - peak)^2 / (2 square_scale)) of accepting y >= 0.

    Entry b is for the integers y from b 2^shift to (b + 1) 2^shift - 1. If the random 64-bit word
    is below `low[b]`, y is accepted; if it is above `high[b]`, y is rejected; otherwise more random
    bits decide.
    """

    square_scale: Fraction
    peak: Fraction
    shift: int
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]

    def accepts(self, values: NDArray[np.int64], random: RandomWords) -> NDArray[np.bool_]:
        """Draw which of the proposed `values` (n,) are accepted; return a mask (n,).

        A value y is accepted with the probability p(y) of the class docstring.
        """
        words = random.words(values.size)
        entries = np.minimum(values >> self.shift, self.low.size - 1)
        accepted: NDArray[np.bool_] = words < self.low[entries]
        unsure = ~accepted & (words <= self.high[entries])
        unsure |= values >= self.low.size << self.shift
        for position in np.flatnonzero(unsure).tolist():
            accepted[position] = self._settle(int(values[position]), int(words[position]), random)
        return accepted

    def _settle(self, value: int, word: int, random: RandomWords) -> bool:
        exponent = self.exponent(value)
        if exponent == 0:
            return True
        return is_below(word, lambda bits: exp_bounds(exponent, bits), random)

    def exponent(self, value: int) -> Fraction:
        """Return -ln p(value), for the acceptance probability p of the class docstring."""
        return (value - self.peak) ** 2 / (2 * self.square_scale)


def is_below(word: int, bounds: Callable[[int], Bounds], random: RandomWords) -> bool:
    """Decide whether a string of random bits in [0, 1) is below a real number.

    The string begins with the 64 bits of `word`; more are drawn if they are needed. `bounds(bits)`
    returns a lower and an upper integer bound on the number times 2^bits.
    """
    bits, extra = 64, 64
    while True:
        low, high = bounds(bits + extra)
        if (word + 1) << extra <= low:
            return True
        if word << extra >= high:
            return False
        word = word << 64 | int(random.words(1)[0])
        bits += 64


@lru_cache(maxsize=16)
def acceptance_table(square_scale: Fraction, peak: Fraction, reach: int) -> AcceptanceTable:
    """Build the table of bounds on the acceptance probability p(y) for all 0 <= y < `reach`."""
    shift = max(0, ((reach - 1) // MAX_TABLE_LENGTH).bit_length())
    count = -(-reach >> shift)
    table = AcceptanceTable(square_scale, peak, shift, *np.empty((2, 0), dtype=np.uint64))
    edges = _edge_bounds(table, count + 1)
    low, high = (np.array(bounds, dtype=np.uint64) for bounds in zip(*edges, strict=True))
    if shift == 0:
        low, high = low[:-1], high[:-1]
    else:
        # An entry for several values needs p at its first value and at the first value of the next
        # entry. Between the two, p is monotonic unless the peak, where p is 1, lies between them.
        low, high = np.minimum(low[:-1], low[1:]), np.maximum(high[:-1], high[1:])
        high[floor(peak) >> shift] = MAX_WORD
    return replace(table, low=low, high=high)


def _edge_bounds(table: AcceptanceTable, count: int) -> list[Bounds]:
    """Return bounds on the first 64 bits of the acceptance probability p(y) for y = 0, 2^shift, ...

    There are `count` pairs of bounds.
    """
    step = 1 << table.shift
    start = floor(table.peak) >> table.shift
    falling = _walk(table, start * step, step)
    rising = _walk(table, start * step, -step)
    bounds = [*reversed(list(islice(rising, 1, start + 1))), *islice(falling, count - start)]
    # A bound of 2^64 does not fit in a word, so the greatest word stands for it. A random word that
    # equals the greatest one then decides nothing, and the exact comparison follows.
    return [
        (min(low >> PRECISION - 64, MAX_WORD), min(high >> PRECISION - 64, MAX_WORD))
        for low, high in bounds
    ]


def _walk(table: AcceptanceTable, start: int, step: int) -> Iterator[Bounds]:
    """Yield bounds on p(start), p(start + step), ..., times 2^PRECISION.

    The first step may lead over the peak; after it, p decreases. The quotient of p at two
    successive values is p(y + d)/p(y) = exp(-(2 d (y - peak) + d^2)/(2 s)), and each quotient is
    the one before, times exp(-d^2/s).
    """
    second = start + step
    yield _probability(table, start)
    low, high = _probability(table, second)
    quotient = exp_bounds(table.exponent(second + step) - table.exponent(second), PRECISION)
    factor = exp_bounds(step * step / table.square_scale, PRECISION)
    while True:
        yield low, high
        low, high = low * quotient[0] >> PRECISION, -(-high * quotient[1] >> PRECISION)
        quotient = quotient[0] * factor[0] >> PRECISION, -(-quotient[1] * factor[1] >> PRECISION)


def _probability(table: AcceptanceTable, value: int) -> Bounds:
    exponent = table.exponent(value)
    return exp_bounds(exponent, PRECISION) if exponent else (1 << PRECISION, 1 << PRECISION)
