"""How often a guess can be right: the reading of a guarantee for people who know no epsilon.

Somebody has to guess which of two neighbouring datasets a release was drawn from, and began with
both equally likely. Let p be the probability, under the one, of the outcomes at which the guess is
"the one", and q their probability under the other. The guess is right with probability
(p + 1 - q)/2. Write a for e^epsilon. An (epsilon, delta) guarantee gives p <= a q + delta and
1 - q <= a (1 - p) + delta. Adding the two, (1 + a)(p - q) <= a - 1 + 2 delta, so that the guess is
right with a probability of at most (a + delta)/(1 + a), whatever else is known. Randomised response
reaches that bound for delta = 0.

The bound is about neighbours: for pure differential privacy somebody's presence. Whether somebody
was in one place or in another is two steps, one privacy unit removed and another one added, and the
bound at 2 epsilon. The same holds at k epsilon for k privacy units that are all there or all away.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from enum import StrEnum
from fractions import Fraction

COIN = 50
"""Right guesses in 100 of somebody who tosses a coin."""

CERTAIN = 99
"""Right guesses in 100 from which on no figure is given."""

STRONG = 75
"""Most right guesses in 100 with strong protection: epsilon up to ln 3."""

MODERATE = 90
"""Most right guesses in 100 with moderate protection: epsilon up to ln 9."""

_FAR = 50
"""An epsilon from which on every guess may be right."""

_DIGITS = 60


class Verdict(StrEnum):
    """How well one privacy unit is protected, in a word."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"


def right_guesses(epsilon: Fraction, delta: Fraction = Fraction(0)) -> int:
    """Return 100 (e^epsilon + delta)/(1 + e^epsilon) as a whole number, rounded up.

    It is never below the exact figure: e^epsilon is bounded from above by a rational number, with
    which everything else is computed exactly.
    """
    if epsilon <= 0 and delta <= 0:
        return COIN
    if epsilon >= _FAR:
        return 100
    most = _exponential_at_most(epsilon)
    exact = 100 * (most + delta) / (1 + most)
    return min(100, -(-exact.numerator // exact.denominator))


def verdict_of(right: int) -> Verdict:
    """Return the verdict on so many right guesses in 100, so that word and number agree."""
    if right <= STRONG:
        return Verdict.STRONG
    return Verdict.MODERATE if right <= MODERATE else Verdict.WEAK


def _exponential_at_most(epsilon: Fraction) -> Fraction:
    """Return a number from e^epsilon up to e^epsilon (1 + 1e-50).

    `Decimal.exp` is correctly rounded. Division and exponential err by at most one unit of the last
    of 60 digits each, the former in the exponent, which is below 50: by less than 1e-57 in all.
    """
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    exponent = context.divide(epsilon.numerator, epsilon.denominator)
    return Fraction(exponent.exp(context)) * (1 + Fraction(1, 10**52))
