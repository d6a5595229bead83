"""Conversion of rho to epsilon and delta: safe, tight, and equal to what others compute."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgeo.core.zcdp import (
    MAX_DELTA,
    MAX_RHO,
    MIN_DELTA,
    NANO,
    epsilon_at,
    nano_rho_for,
    nano_rho_of_pure,
)

BILLIONTH = Fraction(1, 10**9)
DELTAS = [MAX_DELTA, Fraction(1, 10**6), BILLIONTH, MIN_DELTA]


def delta_at(rho: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Return the least delta that corollary 13 (Canonne et al. 2020) gives, to 60 digits."""
    with mpmath.workdps(60):
        r, e = mpmath.mpf(rho.numerator) / rho.denominator, mpmath.mpf(float(epsilon))

        def log_delta(log_above_one: mpmath.mpf) -> mpmath.mpf:
            x = mpmath.exp(log_above_one)
            a = 1 + x
            return x * (a * r - e) - mpmath.log(x) + a * mpmath.log(x / a)

        low, high = mpmath.mpf(-10), mpmath.mpf(45)
        for _ in range(260):
            third = (high - low) / 3
            if log_delta(low + third) < log_delta(high - third):
                high -= third
            else:
                low += third
        return mpmath.exp(log_delta(low))


@pytest.mark.parametrize("delta", DELTAS, ids=float)
@pytest.mark.parametrize("rho", ["0.000000001", "0.0001", "0.015", "0.12", "2", "1000", "500000"])
def test_the_epsilon_is_the_least_millionth_that_keeps_delta(rho: str, delta: Fraction) -> None:
    epsilon = epsilon_at(Fraction(rho), delta)
    slack = 1 + mpmath.mpf(10) ** -9
    assert delta_at(Fraction(rho), epsilon) <= mpmath.mpf(float(delta)) * slack
    if epsilon > Fraction(1, 10**6):
        less = epsilon - Fraction(1, 10**6)
        assert delta_at(Fraction(rho), less) >= mpmath.mpf(float(delta)) / slack


@pytest.mark.parametrize("delta", DELTAS, ids=float)
@pytest.mark.parametrize("rho", ["0.0001", "0.015", "0.12", "2"])
def test_a_continuous_gaussian_of_that_rho_keeps_delta(rho: str, delta: Fraction) -> None:
    """A Gaussian count of this rho keeps the delta that the conversion gives.

    It is compared with the exact curve of one Gaussian count (Balle and Wang 2018, theorem 8).
    """
    with mpmath.workdps(50):
        epsilon = mpmath.mpf(float(epsilon_at(Fraction(rho), delta)))
        mu = mpmath.sqrt(2 * mpmath.mpf(float(Fraction(rho))))
        exact = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mu / 2 - epsilon / mu
        )
        assert exact <= float(delta)


def test_some_figures_that_others_can_check() -> None:
    assert nano_rho_for(Fraction(1, 2), BILLIONTH) == 3_953_191
    assert nano_rho_for(Fraction(1), BILLIONTH) == 14_973_057
    assert nano_rho_for(Fraction(1), Fraction(1, 10**6)) == 24_355_970
    assert nano_rho_for(Fraction(3), BILLIONTH) == 120_582_428


@given(st.integers(1, 20_000_000), st.sampled_from(DELTAS[1:3]))
@settings(max_examples=20, deadline=None)
def test_rho_for_an_epsilon_is_the_most_that_it_pays_for(micro: int, delta: Fraction) -> None:
    epsilon = Fraction(micro, 10**6)
    nano = nano_rho_for(epsilon, delta)
    assert nano == 0 or epsilon_at(Fraction(nano, NANO), delta) <= epsilon
    assert epsilon_at(Fraction(nano + 1, NANO), delta) > epsilon


def test_a_pure_epsilon_costs_half_its_square_rounded_up() -> None:
    assert nano_rho_of_pure(Fraction(1)) == NANO // 2
    assert nano_rho_of_pure(Fraction(1, 10**6)) == 1
    assert nano_rho_of_pure(Fraction(3, 10**5)) == 1
    assert nano_rho_of_pure(Fraction(100_001, 10**6)) == 5_000_101


def test_amounts_out_of_the_limits_are_refused() -> None:
    for rho in (Fraction(0), Fraction(1, 2 * NANO), Fraction(MAX_RHO + 1)):
        with pytest.raises(ValueError, match="nano-rho"):
            epsilon_at(rho, BILLIONTH)
    for delta in (Fraction(0), MIN_DELTA / 2, MAX_DELTA * 2):
        with pytest.raises(ValueError, match="delta"):
            epsilon_at(Fraction(1), delta)
