"""Smoothed counts of periods, and the changes that stand out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.periods import CHANCE, largest_by_noise, smoothed


def test_smoothing_reads_no_later_period() -> None:
    random = np.random.default_rng(3)
    drawn = random.normal(20, 5, (12, 4, 4))
    whole, deviation = smoothed(drawn, 25.0)
    np.testing.assert_array_equal(smoothed(drawn[:7], 25.0)[0], whole[:7])
    np.testing.assert_array_equal(whole[0], np.maximum(drawn[0], 0))
    assert np.abs(whole[-1] - 20).mean() < np.abs(drawn[-1] - 20).mean()
    assert (np.diff(deviation[:4], axis=0) < 0).all()
    assert deviation[0, 0, 0] == 5


@pytest.mark.parametrize(("epsilon", "bound"), [(Fraction(1), 3), (Fraction(1, 2), 20)])
@pytest.mark.parametrize("regions", [1, 11, 4096])
def test_a_change_stands_out_that_noise_makes_in_no_region(
    epsilon: Fraction, bound: int, regions: int
) -> None:
    noise = DiscreteLaplace(epsilon, bound)
    most = largest_by_noise(noise, regions)
    values = np.arange(-3000, 3001)
    one = np.exp(-float(noise.rate) * np.abs(values))
    both = np.convolve(one / one.sum(), one / one.sum())
    apart = np.abs(np.arange(-6000, 6001))
    assert regions * both[apart > most].sum() <= CHANCE
    assert regions * both[apart > most - 1].sum() > CHANCE
