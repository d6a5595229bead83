"""Exact discrete Laplace sampler.

What is drawn. Let a = exp(-rate). Draw G, geometric with P(G = j) = (1-a) a^j, and a coin S with
P(S = 1) = a/(1+a). Then X = G if S = 0, and X = -1 - G if S = 1. Every integer k has P(X = k) =
(1-a)/(1+a) a^|k|: k >= 0 comes from S = 0, and k = -1 - j < 0 from S = 1, since a/(1+a) (1-a) a^j =
(1-a)/(1+a) a^(j+1). Zero comes from S = 0 only.

How G is drawn at any scale. The digits of G in base B = 4096 are independent: in G = d_0 + B d_1 +
... + B^m T, the mass (1-a) a^G is a product of one factor per digit. Digit d_i has P(d)
proportional to exp(-rate B^i d) on 0..B-1 and T is geometric with rate' = rate B^m (the quotient
and remainder of Canonne, Kamath and Steinke 2020, algorithm 2, applied m times). m is the smallest
number for which the scale of T, 1/rate', is at most 512. S is drawn like a digit, but in base 2 and
with the original rate. T has a table of its first K values, with K chosen so that about one draw in
a million falls outside it; since P(T = K + j | T >= K) = P(T = j), such a draw becomes K plus a new
draw.

How a digit is drawn. Its value is the number of boundaries F_k = P(digit <= k) that are at most u,
where u in [0, 1) is an infinite string of random bits. Tables hold the first 64 bits of every
boundary. These are computed from integer bounds that enclose exp(-rate) and are rounded outwards at
every step. The computation starts with 256 bits of precision and doubles it until both bounds agree
on the bits required. A random word of 64 bits decides the comparison unless it equals a boundary's
first 64 bits. In that case the next 64 bits of both are compared, and so on until they differ
(drawing a new word instead would change the distribution). With probability 1 they differ at some
point. The bits of a boundary can always be computed, because no boundary is rational: exp(-rate) is
transcendental for rational rate != 0 (Lindemann), and a rational F_k = (1 - a^(k+1))/(1 - a^B)
would make it a root of a polynomial.

Privacy argument. Given independent uniform bits, X has exactly the distribution stated above. For
integer vectors v, v' with sum |v_i - v'_i| <= l and independent X_i of rate epsilon/l, every output
z has P(v + X = z)/P(v' + X = z) = prod a^(|z_i - v_i| - |z_i - v'_i|) <= a^(-l) = exp(epsilon). The
privacy loss is at most epsilon, with no delta. (If the comparison stopped at 128 bits, masses of at
least 2^-64 would be off by a factor 1 +- eta with eta <= 2^-127/2^-64 = 2^-63, and the loss would
be epsilon + 2 l eta, since each of at most l changed coordinates adds two such factors. Continuing
makes eta zero.) Sums of counts and noise wrap modulo 2^64; this is a function of the exact sum and
therefore post-processing. The uniform bits are the words of a cipher under a secret key, which is
assumed to be secure. How long a draw takes depends on the noise, so the timings of releases are
kept private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import MIN_RATE, DiscreteLaplace
from dpgeo.privacy.randomness import RandomWords

BASE_BITS = 12
"""Number of bits of a digit of geometric values.

Tables for digits in base 4096 take 32 kilobytes and fit in the processor's cache.
"""

MAX_TABLE_SCALE = 512
"""Largest noise scale at which a geometric value is drawn from one table, not digit by digit."""

CHUNK = 1 << 15
"""Number of values drawn at a time, so that the arrays in use stay in the processor's cache."""

GUIDE_BITS = 16
"""Largest number of a random word's leading bits that index `_Table.guide`."""


def sample(noise: DiscreteLaplace, size: int, random: RandomWords) -> NDArray[np.int64]:
    """Draw `size` independent values of discrete Laplace noise, int64."""
    coin = _table(noise.rate, 2)
    geometric_draw = _geometric_sampler(noise.rate)

    def draw(count: int) -> NDArray[np.int64]:
        sign = -coin.draw(count, random)
        # If the coin is 1, flip every bit of the geometric value G. In two's complement, that gives
        # -1 - G.
        return geometric_draw(count, random) ^ sign

    return _in_chunks(draw, size)


def sample_geometric(rate: Fraction, size: int, random: RandomWords) -> NDArray[np.int64]:
    """Draw `size` exact geometric values, int64: P(j) = (1-a) a^j with a = exp(-rate)."""
    draw = _geometric_sampler(rate)
    return _in_chunks(lambda count: draw(count, random), size)


def _in_chunks(draw: Callable[[int], NDArray[np.int64]], size: int) -> NDArray[np.int64]:
    drawn = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        stop = min(size, start + CHUNK)
        drawn[start:stop] = draw(stop - start)
    return drawn


def _geometric_sampler(rate: Fraction) -> Callable[[int, RandomWords], NDArray[np.int64]]:
    """Return a function that draws geometric values from tables, digit by digit in base 4096."""
    if rate < MIN_RATE:
        raise ValueError(f"The rate of noise must be at least {MIN_RATE}, to fit 64 bits.")
    digits = []
    while rate * MAX_TABLE_SCALE < 1:
        digits.append(_table(rate, 1 << BASE_BITS))
        rate *= 1 << BASE_BITS
    top = _table(rate, None)

    def draw(count: int, random: RandomWords) -> NDArray[np.int64]:
        total = top.draw(count, random)
        for digit in reversed(digits):
            total <<= BASE_BITS
            total += digit.draw(count, random)
        return total

    return draw


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Table of the distribution with P(d) proportional to exp(-rate d).

    d ranges from 0 to `outcomes` - 1, or over all d >= 0 if `outcomes` is None. `words`
    holds the first 64 bits of the boundaries, ascending, followed by the largest word.
    `guide` holds, for each value of a word's leading bits, the number of boundaries below
    all words that start with these bits. From the word `crowded` on, several boundaries can
    have the same leading bits.
    """

    rate: Fraction
    outcomes: int | None
    words: NDArray[np.uint64]
    guide: NDArray[np.int64]
    shift: np.uint64
    crowded: np.uint64

    @property
    def boundaries(self) -> int:
        return len(self.words) - 1

    def draw(self, count: int, random: RandomWords) -> NDArray[np.int64]:
        drawn = self._draw_once(count, random)
        if self.outcomes is None:
            beyond = np.flatnonzero(drawn == self.boundaries)
            while beyond.size:
                further = self._draw_once(beyond.size, random)
                drawn[beyond] += further
                beyond = beyond[further == self.boundaries]
        return drawn

    def _draw_once(self, count: int, random: RandomWords) -> NDArray[np.int64]:
        words = random.words(count)
        drawn: NDArray[np.int64] = self.guide[words >> self.shift]
        boundary = self.words[drawn]
        drawn += words > boundary
        tied = words == boundary
        crowded = np.flatnonzero(words >= self.crowded)
        if crowded.size:
            among = words[crowded]
            place = np.searchsorted(self.words, among)
            drawn[crowded] = place
            tied[crowded] = self.words[place] == among
        for position in np.flatnonzero(tied):
            drawn[position] = self._settle(int(words[position]), random)
        return drawn

    def _settle(self, word: int, random: RandomWords) -> int:
        """Return the value for a `word` that is equal to the first 64 bits of a boundary.

        Reads more random words to tell on which side of the boundary the random number is.
        """
        bits, string = 64, word
        ends = self.words[: self.boundaries]
        first = int(np.searchsorted(ends, np.uint64(word)))
        last = int(np.searchsorted(ends, np.uint64(word), side="right"))
        for index in range(first, last):
            while string == (boundary := boundary_bits(self.rate, self.outcomes, index, bits)):
                string = string << 64 | int(random.words(1)[0])
                bits += 64
            if string < boundary:
                return index
        return last


@lru_cache(maxsize=64)
def _table(rate: Fraction, outcomes: int | None) -> _Table:
    """Build the table for a digit from 0 to `outcomes` - 1 or, without any, a geometric variable.

    The table for a geometric variable leaves out a tail of mass below 2^-20.
    """
    # The table may end at 14/rate, which a geometric variable exceeds with a probability of about
    # e^-14 < 2^-20.
    count = outcomes - 1 if outcomes else -(-14 * rate.denominator // rate.numerator)
    ends = np.array(_first_boundaries(rate, outcomes, count), dtype=np.uint64)
    guide_bits = min(GUIDE_BITS, count.bit_length() + 4)
    shift = np.uint64(64 - guide_bits)
    prefixes = np.arange(1 << guide_bits, dtype=np.uint64)
    guide = np.searchsorted(ends, prefixes << shift).astype(np.int64)
    shared = (ends[1:] >> shift) == (ends[:-1] >> shift)
    crowded = (ends[1:][shared][:1] >> shift) << shift
    greatest = np.uint64((1 << 64) - 1)
    return _Table(
        rate=rate,
        outcomes=outcomes,
        words=np.append(ends, greatest),
        guide=guide,
        shift=shift,
        crowded=crowded[0] if crowded.size else greatest,
    )


def boundary_bits(rate: Fraction, outcomes: int | None, index: int, bits: int) -> int:
    """Compute floor(2^bits P(d <= index)) exactly, for d with the distribution of `_Table`."""

    def attempt(precision: int) -> list[int] | None:
        power = exp_bounds(rate * (index + 1), precision)
        return _certain_floors([power], _exp_bounds_of(rate, outcomes, precision), precision, bits)

    return _refine(attempt, bits)[0]


def _first_boundaries(rate: Fraction, outcomes: int | None, count: int) -> list[int]:
    """Compute floor(2^64 P(d <= index)) exactly for each index below `count`.

    d has the distribution described at `_Table`.
    """

    def attempt(precision: int) -> list[int] | None:
        powers = islice(_powers(exp_bounds(rate, precision), precision), count)
        return _certain_floors(powers, _exp_bounds_of(rate, outcomes, precision), precision, 64)

    return _refine(attempt, 64)


def _refine(attempt: Callable[[int], list[int] | None], bits: int) -> list[int]:
    precision = bits + 192
    while (floors := attempt(precision)) is None:
        precision *= 2
    return floors


Bounds = tuple[int, int]
"""Two integers that enclose a real number times 2^precision."""


def _certain_floors(
    powers: Iterator[Bounds] | list[Bounds], tail: Bounds, precision: int, bits: int
) -> list[int] | None:
    """Compute floor(2^bits (1-p)/(1-r)) for several real numbers p and one r.

    `powers` holds bounds on each p, and `tail` bounds on r, to `precision` bits. Returns None if
    the bounds are too wide to decide one of the results.
    """
    one = 1 << precision
    floors = []
    for low, high in powers:
        least = ((one - high) << bits) // (one - tail[0])
        most = ((one - low) << bits) // (one - tail[1]) if tail[1] < one else -1
        if least != most:
            return None
        floors.append(least)
    return floors


def _exp_bounds_of(rate: Fraction, outcomes: int | None, precision: int) -> Bounds:
    """Return bounds on exp(-rate * outcomes).

    This is the probability that a geometric variable is at least `outcomes`. If `outcomes`
    is None, the number of outcomes is infinite, so the bounds are 0.
    """
    return exp_bounds(rate * outcomes, precision) if outcomes else (0, 0)


def _powers(base: Bounds, precision: int) -> Iterator[Bounds]:
    """Yield bounds on x, x^2, x^3 and so on, where `base` holds the bounds on x, from 0 to 1."""
    low, high = base
    while True:
        yield low, high
        low = low * base[0] >> precision
        high = -(-high * base[1] >> precision)


def exp_bounds(exponent: Fraction, precision: int) -> Bounds:
    """Return bounds on exp(-exponent), for exponent > 0, by a Taylor series and squaring."""
    squarings = max(0, (2 * exponent.numerator // exponent.denominator).bit_length())
    work = precision + squarings + 32
    reduced = exponent / (1 << squarings)
    low = high = term_low = term_high = 1 << work
    count = 0
    # The terms alternate in sign and decrease, so the sum's error is below the last term added.
    while term_high > 1:
        count += 1
        term_low = term_low * reduced.numerator // (reduced.denominator * count)
        term_high = -(-term_high * reduced.numerator // (reduced.denominator * count))
        if count % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = max(0, low - term_high), high + term_high
    for _ in range(squarings):
        low, high = low * low >> work, -(-high * high >> work)
    return low >> (work - precision), -(-high >> (work - precision))
