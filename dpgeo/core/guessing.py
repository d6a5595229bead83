"""Guarantees restated as how often a guess about the data can be right.

Somebody has to guess from which of two neighbouring datasets a release was drawn, and considers
both equally likely beforehand. Let p be the probability, under the first dataset, of the outcomes
for which they guess "the first", and q the probability of these outcomes under the second. The
guess is right with probability (p + 1 - q)/2. Let a = e^epsilon. An (epsilon, delta) guarantee
gives p <= a q + delta and 1 - q <= a (1 - p) + delta. Adding these gives (1 + a)(p - q) <= a - 1 +
2 delta. So the guess is right with a probability of at most (a + delta)/(1 + a), whatever else is
known. Randomised response reaches this bound for delta = 0.

The bound applies to neighbouring datasets: for pure differential privacy, it limits guesses about
somebody's presence. A change from one place to another takes two steps, removing one privacy unit
and adding another, so for guesses about places the bound for 2 epsilon applies. For k privacy units
that are all present or all absent, the bound for k epsilon applies.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from enum import StrEnum
from fractions import Fraction

COIN = 50
"""Percentage of correct guesses that a coin toss achieves."""

CERTAIN = 99
"""From this percentage of correct guesses on, no figure is stated: a guess may be almost certain.
"""

STRONG = 75
"""Largest percentage of correct guesses that counts as strong protection: epsilon up to ln 3."""

MODERATE = 90
"""Largest percentage of correct guesses that counts as moderate protection: epsilon up to ln 9."""

_FAR = 50
"""From this epsilon on, `right_guesses` returns 100."""

_DIGITS = 60


class Verdict(StrEnum):
    """One word for how well a privacy unit is protected."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"


def right_guesses(epsilon: Fraction, delta: Fraction = Fraction(0)) -> int:
    """Return 100 (e^epsilon + delta)/(1 + e^epsilon), rounded up to an integer.

    The result is never below the exact value: e^epsilon is bounded from above by a rational number,
    and everything else is computed exactly.
    """
    if epsilon <= 0 and delta <= 0:
        return COIN
    if epsilon >= _FAR:
        return 100
    most = _exponential_at_most(epsilon)
    exact = 100 * (most + delta) / (1 + most)
    return min(100, -(-exact.numerator // exact.denominator))


def judge_guesses(right: int) -> Verdict:
    """Return the verdict for protection that allows this many correct guesses in 100."""
    if right <= STRONG:
        return Verdict.STRONG
    return Verdict.MODERATE if right <= MODERATE else Verdict.WEAK


def _exponential_at_most(epsilon: Fraction) -> Fraction:
    """Return a rational number between e^epsilon and e^epsilon (1 + 1e-50).

    The division and `Decimal.exp` are both accurate to one unit in the last of 60 digits. The error
    of the division affects the exponent, which is below 50. So the total relative error is less
    than 1e-57, which the factor 1 + 1e-52 covers.
    """
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    exponent = context.divide(epsilon.numerator, epsilon.denominator)
    return Fraction(exponent.exp(context)) * (1 + Fraction(1, 10**52))
