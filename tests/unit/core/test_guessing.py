"""The bound on right guesses, which holds, is tight, and is never rounded down."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgeo.core.guessing import right_guesses


@given(
    st.fractions(min_value=Fraction(1, 10**12), max_value=60, max_denominator=10**12),
    st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 1000)]),
)
def test_it_is_the_exact_bound_rounded_up(epsilon: Fraction, delta: Fraction) -> None:
    with mpmath.workdps(80):
        power = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        exact = 100 * (power + mpmath.mpf(delta.numerator) / delta.denominator) / (1 + power)
        expected = min(100, int(mpmath.ceil(exact)))
    assert right_guesses(epsilon, delta) == expected


@pytest.mark.parametrize("digits", [6, 12, 30, 45])
def test_next_to_a_whole_figure_it_is_rounded_up_and_no_further(digits: int) -> None:
    with mpmath.workdps(80):
        below = Fraction(int(mpmath.floor(mpmath.log(3) * 10**digits)), 10**digits)
    assert right_guesses(below) == 75
    assert right_guesses(below + Fraction(1, 10**digits)) == 76


def test_randomised_response_reaches_the_bound() -> None:
    """Randomised response reaches the bound on right guesses.

    At epsilon ln 9, the true answer is given nine times in ten, so guessing what the answer says is
    right nine times in ten.
    """
    with mpmath.workdps(40):
        epsilon = Fraction(int(mpmath.log(9) * 10**30), 10**30)
    assert right_guesses(epsilon) == 90
