from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import (
    MIN_RATE,
    CountNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    PlanarLaplace,
    noise_from_json,
)

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
    """Return P(noise >= k) of discrete Laplace noise for k >= 1, to 60 digits.

    It is the sum of (1-a)/(1+a) a^j over j >= k, with a = e^-rate.
    """
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


@pytest.mark.parametrize("rate", RATES)
def test_the_variance_is_right_from_the_smallest_rate_to_the_largest(rate: Fraction) -> None:
    with mpmath.workdps(60):
        a = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        exact = 2 * a / (1 - a) ** 2

    assert DiscreteLaplace(rate, 1).variance == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [
        (Fraction(0), 1),
        (Fraction(-1), 1),
        (Fraction(1), 0),
        (MIN_RATE / 2, 1),
        (0.5, 1),
        (Fraction(1), 1.5),
    ],
)
def test_noise_needs_exact_positive_numbers(epsilon: Fraction, sensitivity: int) -> None:
    with pytest.raises((ValueError, TypeError, InvalidInput)):
        DiscreteLaplace(epsilon, sensitivity)


SQUARES = [Fraction(1, 25), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**5)]


def gaussian_above(square: Fraction, value: int) -> mpmath.mpf:
    """Return P(noise >= value) of discrete Gaussian noise for value >= 1, from theta functions."""
    with mpmath.workdps(40):
        s = mpmath.mpf(square.numerator) / square.denominator
        last = value + 12 * (math.isqrt(math.ceil(square)) + 1)
        tail = mpmath.fsum(mpmath.exp(-mpmath.mpf(k * k) / (2 * s)) for k in range(value, last))
        return tail / mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s)))


@pytest.mark.parametrize("square", SQUARES, ids=str)
def test_margins_and_thresholds_of_gaussian_noise_are_the_least(square: Fraction) -> None:
    noise = DiscreteGaussian(1 / (2 * square), 1)
    tolerance = mpmath.mpf(10) ** -8
    for confidence in (0.5, 0.95, 0.999):
        margin, chance = noise.margin(confidence), 1 - mpmath.mpf(confidence)
        assert 2 * gaussian_above(square, margin + 1) <= chance * (1 + tolerance)
        assert margin == 0 or 2 * gaussian_above(square, margin) > chance * (1 - tolerance)
    for chance in (0.3, 1e-3, 1e-9):
        threshold = noise.threshold(chance)
        assert gaussian_above(square, threshold) <= chance * (1 + tolerance)
        assert threshold == 1 or gaussian_above(square, threshold - 1) > chance * (1 - tolerance)


@pytest.mark.parametrize("square", [Fraction(1, 25), Fraction(1, 2), Fraction(3, 2), Fraction(9)])
def test_the_variance_of_gaussian_noise_is_that_of_its_masses(square: Fraction) -> None:
    s = float(square)
    masses = {k: math.exp(-k * k / (2 * s)) for k in range(-200, 201)}
    variance = sum(k * k * mass for k, mass in masses.items()) / sum(masses.values())
    noise = DiscreteGaussian(1 / (2 * square), 1)
    assert noise.variance == pytest.approx(variance, rel=1e-12)
    assert noise.variance <= s * (1 + 1e-12)


SQUARE_SCALES = [Fraction(1, 3), Fraction(1), Fraction(19, 10), Fraction(2), Fraction(50)]


def masses(square_scale: Fraction) -> list[float]:
    """Return the probabilities of 0, 1, ..., 199 under discrete Gaussian noise."""
    weights = [math.exp(-(k**2) / (2 * float(square_scale))) for k in range(200)]
    return [weight / (2 * sum(weights) - 1) for weight in weights]


def gaussian(square_scale: Fraction) -> DiscreteGaussian:
    return DiscreteGaussian(1 / (2 * square_scale), 1)


@pytest.mark.parametrize("square_scale", SQUARE_SCALES)
@pytest.mark.parametrize("chance", [1 / 40, 1e-4])
def test_the_reach_of_gaussian_noise_is_the_least(square_scale: Fraction, chance: float) -> None:
    mass, reach = masses(square_scale), gaussian(square_scale).reach(chance)
    assert sum(mass[reach:]) <= chance * sum(mass)
    assert reach == 1 or sum(mass[reach - 1 :]) > chance * sum(mass)


@pytest.mark.parametrize("square_scale", SQUARE_SCALES)
def test_differences_of_gaussian_noises_agree_with_a_convolution(square_scale: Fraction) -> None:
    mass = masses(square_scale)
    both = np.convolve([*mass[:0:-1], *mass], [*mass[:0:-1], *mass])
    middle = len(both) // 2
    for value in (0, 1, 2, 5, 20):
        exact = 2 * both[middle + value + 1 :].sum()
        found = gaussian(square_scale).difference_beyond(value)
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-15)


def test_differences_of_laplace_noises_agree_with_a_convolution() -> None:
    mass = [math.tanh(0.15) * math.exp(-0.3 * abs(k)) for k in range(-150, 151)]
    both = np.convolve(mass, mass)
    for value in (0, 1, 20):
        found = DiscreteLaplace(Fraction(3, 10), 1).difference_beyond(value)
        assert found == pytest.approx(2 * both[300 + value + 1 :].sum())


@pytest.mark.parametrize("percent", [50, 100, 200])
def test_lists_under_gaussian_noise_are_as_strict_as_under_laplace_noise(percent: int) -> None:
    cells = 4096
    for noise in (gaussian(Fraction(3000)), DiscreteLaplace(Fraction(1, 40), 1)):
        threshold = noise.list_threshold(cells, percent)
        expected = cells ** (1 - percent / 100) / 2
        assert cells * noise.above(threshold) <= expected * 1.02
        assert cells * noise.above(threshold - 1) > expected * 0.95


@pytest.mark.parametrize("noise", [gaussian(Fraction(7)), DiscreteLaplace(Fraction(1, 3), 1)])
def test_sums_of_noises_reach_their_threshold_seldom(noise: CountNoise) -> None:
    deviation = math.sqrt(20 * noise.variance)
    assert noise.sum_threshold(1) == noise.threshold()
    assert 3.0 * deviation < noise.sum_threshold(20) < 4.1 * deviation


@pytest.mark.parametrize(
    "noise",
    [
        gaussian(Fraction(7)),
        DiscreteLaplace(Fraction(1, 3), 2),
        PlanarLaplace(Fraction(1, 100), 1, 5, 2500),
    ],
)
def test_noise_is_read_from_its_document(noise: Noise) -> None:
    assert noise_from_json(noise.to_json()) == noise
