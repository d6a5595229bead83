from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import LEAST_RATE, DiscreteLaplace

RATES = [
    Fraction(1, 10**9),
    Fraction(1, 20_000),
    Fraction(1, 100),
    Fraction(1, 3),
    Fraction(1),
    Fraction(3),
    Fraction(40),
    Fraction(1000),
]


def beyond(rate: Fraction, k: int) -> mpmath.mpf:
    """Return P(noise >= k) for k >= 1 to 60 digits, as the sum of (1-a)/(1+a) a^j over j >= k."""
    with mpmath.workdps(60):
        a = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        return a**k / (1 + a)


def outside(rate: Fraction, margin: int) -> mpmath.mpf:
    """Return P(abs(noise) > margin)."""
    with mpmath.workdps(60):
        return 2 * beyond(rate, margin + 1)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_the_margin_is_the_least_with_its_confidence(rate: Fraction, confidence: float) -> None:
    margin = DiscreteLaplace(rate, 1).margin(confidence)

    chance = 1 - mpmath.mpf(confidence)
    assert outside(rate, margin) <= chance * (1 + mpmath.mpf(10) ** -9)
    assert margin == 0 or outside(rate, margin - 1) > chance * (1 - mpmath.mpf(10) ** -9)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("chance", [0.3, 1e-3, 1e-9])
def test_the_threshold_is_the_least_that_few_empty_cells_reach(
    rate: Fraction, chance: float
) -> None:
    threshold = DiscreteLaplace(rate, 1).threshold(chance)

    tolerance = mpmath.mpf(10) ** -9
    assert beyond(rate, threshold) <= chance * (1 + tolerance)
    assert threshold == 1 or beyond(rate, threshold - 1) > chance * (1 - tolerance)


def test_margins_agree_with_sums_of_the_distribution() -> None:
    """Margins of error agree with direct sums over the noise distribution."""
    a = mpmath.exp(mpmath.mpf(-1) / 5)
    noise = DiscreteLaplace(Fraction(1, 5), 1)

    def mass(k: int) -> mpmath.mpf:
        return (1 - a) / (1 + a) * a ** abs(k)

    margin, threshold = noise.margin(), noise.threshold()
    assert mpmath.fsum(mass(k) for k in range(-margin, margin + 1)) >= 0.95
    assert mpmath.fsum(mass(k) for k in range(1 - margin, margin)) < 0.95
    assert mpmath.fsum(mass(k) for k in range(threshold, 2000)) <= 1e-3
    assert mpmath.fsum(mass(k) for k in range(threshold - 1, 2000)) > 1e-3


@pytest.mark.parametrize("rate", RATES)
def test_the_variance_is_right_from_the_smallest_rate_to_the_largest(rate: Fraction) -> None:
    with mpmath.workdps(60):
        a = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        exact = 2 * a / (1 - a) ** 2

    assert DiscreteLaplace(rate, 1).variance == pytest.approx(float(exact), rel=1e-12)


def test_the_noise_scale_is_proportional_to_the_bound() -> None:
    assert DiscreteLaplace(Fraction(1), 10).rate == DiscreteLaplace(Fraction(1, 10), 1).rate


@given(st.fractions(Fraction(1, 10**6), 100), st.integers(1, 10**6))
def test_it_survives_its_json(epsilon: Fraction, sensitivity: int) -> None:
    noise = DiscreteLaplace(epsilon, sensitivity)

    assert DiscreteLaplace.from_json(noise.to_json()) == noise


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [
        (Fraction(0), 1),
        (Fraction(-1), 1),
        (Fraction(1), 0),
        (LEAST_RATE / 2, 1),
        (0.5, 1),
        (Fraction(1), 1.5),
    ],
)
def test_noise_needs_exact_positive_numbers(epsilon: Fraction, sensitivity: int) -> None:
    with pytest.raises((ValueError, TypeError, InvalidInput)):
        DiscreteLaplace(epsilon, sensitivity)
