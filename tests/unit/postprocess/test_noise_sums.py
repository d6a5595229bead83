"""Margins of error for sums of noise, computed by exact convolution."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.noise import CountNoise, DiscreteGaussian, DiscreteLaplace
from dpgeo.postprocess.noise_sums import margin_of_sum


def noise(rate: str) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(rate), 1)


def gaussian(square_scale: str) -> DiscreteGaussian:
    return DiscreteGaussian(1 / (2 * Fraction(square_scale)), 1)


def chances_of(noise: CountNoise) -> np.ndarray[Any, Any]:
    """Return the probabilities of noise from -m to m, for an m that is hardly ever exceeded."""
    if isinstance(noise, DiscreteGaussian):
        reach = np.arange(-300, 301)
        weights = np.exp(-(reach**2) / (2 * float(noise.square_scale)))
        return np.asarray(weights / weights.sum())
    rate = float(noise.rate)
    reach = np.arange(-int(45 / rate) - 3, int(45 / rate) + 4)
    return np.asarray(np.tanh(rate / 2) * np.exp(-rate * np.abs(reach)))


def convolved(terms: dict[CountNoise, int]) -> int:
    """Return the least m with P(|sum| <= m) >= 95 %, by convolving the distributions one by one."""
    chances = np.ones(1)
    for each, count in terms.items():
        one = chances_of(each)
        for _ in range(count):
            chances = np.convolve(chances, one)
    middle = len(chances) // 2
    within = np.cumsum(np.r_[chances[middle], 2 * chances[middle + 1 :]])
    return int(np.searchsorted(within, 0.95))


@pytest.mark.parametrize("rate", ["6", "3.5", "2", "1", "0.3", "0.1"])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 20])
def test_the_margin_of_equal_noises_is_exact(rate: str, count: int) -> None:
    assert margin_of_sum({noise(rate): count}) == convolved({noise(rate): count})


def test_the_margin_of_different_noises_is_exact() -> None:
    terms: dict[CountNoise, int] = {noise("0.2"): 2, noise("0.7"): 3, noise("4"): 1}
    assert margin_of_sum(terms) == convolved(terms)


@pytest.mark.parametrize("square_scale", ["0.1", "0.7", "1.9", "2", "3", "40", "900"])
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_the_margin_of_equal_gaussian_noises_is_exact(square_scale: str, count: int) -> None:
    terms: dict[CountNoise, int] = {gaussian(square_scale): count}
    assert margin_of_sum(terms) == convolved(terms)


def test_the_margin_of_different_gaussian_noises_is_exact() -> None:
    terms: dict[CountNoise, int] = {gaussian("0.5"): 30, gaussian("8"): 3, gaussian("100"): 1}
    assert margin_of_sum(terms) == convolved(terms)


@pytest.mark.parametrize("rate", ["1000", "1", "0.001", "0.0000000001"])
@pytest.mark.parametrize("count", [2, 1000, 12345, 16_777_216])
def test_margins_of_many_noises_tend_to_the_normal_quantile(rate: str, count: int) -> None:
    margin = margin_of_sum({noise(rate): count})
    deviation = math.sqrt(count * noise(rate).variance)
    assert margin <= 2.1183 * deviation * 1.006 + 1
    if count > 100:
        assert margin >= 1.9599 * deviation - 1
