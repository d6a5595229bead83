"""Margins of error for sums of noise, computed by exact convolution."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.noise_sums import margin_of_shares, margin_of_sum


def noise(rate: str) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(rate), 1)


def convolved(terms: dict[DiscreteLaplace, int]) -> int:
    """Return the least m with P(|sum| <= m) >= 95 %, by convolving the distributions one by one."""
    chances = np.ones(1)
    for each, count in terms.items():
        rate = float(each.rate)
        reach = np.arange(-int(45 / rate) - 3, int(45 / rate) + 4)
        one = np.tanh(rate / 2) * np.exp(-rate * np.abs(reach))
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
    terms = {noise("0.2"): 2, noise("0.7"): 3, noise("4"): 1}
    assert margin_of_sum(terms) == convolved(terms)


@pytest.mark.parametrize("rate", ["1000", "1", "0.001", "0.0000000001"])
@pytest.mark.parametrize("count", [2, 1000, 12345, 16_777_216])
def test_margins_of_many_noises_tend_to_the_normal_quantile(rate: str, count: int) -> None:
    margin = margin_of_sum({noise(rate): count})
    deviation = math.sqrt(count * noise(rate).variance)
    assert margin <= 2.1183 * deviation * 1.006 + 1
    if count > 100:
        assert margin >= 1.9599 * deviation - 1


def test_an_empty_sum_has_no_margin() -> None:
    assert margin_of_sum({}) == 0
    assert margin_of_shares(np.zeros(0), np.zeros(0)) == 0


def test_the_margin_of_one_scaled_noise_is_scaled() -> None:
    margin = margin_of_shares(np.array([0.01]), np.array([0.25]))
    assert margin == pytest.approx(0.25 * math.log(20) / 0.01 + 0.25)
