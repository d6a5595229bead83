"""Intervals of means: coverage, also near the limits, and whether empty regions get a mean."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.fieller import ShareNoise
from tests.noise import laplace

REGIONS = 20_000


def noise_of(steps: int, bound: int = 5) -> ShareNoise:
    return ShareNoise(DiscreteLaplace(Fraction(1), bound * steps), steps)


def drawn(noise: ShareNoise, random: np.random.Generator, size: int) -> NDArray[np.int64]:
    stop = 1 - np.exp(-float(laplace(noise.noise).rate))
    return random.geometric(stop, size) - random.geometric(stop, size)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("steps", [1000, 1])
def test_intervals_cover_the_true_share_in_95_of_100_regions(share: float, steps: int) -> None:
    random = np.random.default_rng(int(1000 * share) + steps)
    noise = noise_of(steps)
    number = random.integers(500, 900, REGIONS)
    above = np.rint(share * steps * number).astype(np.int64)
    below = steps * number - above
    means = noise.means(
        above + drawn(noise, random, REGIONS), below + drawn(noise, random, REGIONS), REGIONS
    )
    true = above / (steps * number)
    covered = (means.low <= true) & (true <= means.high)
    # Regions of 500 records or more almost always get a mean. If noise rules out all candidate
    # means of a region, it gets none, which counts as a miss.
    assert means.told.mean() > 0.95
    assert 0.94 <= covered.mean() <= (0.97 if steps > 1 else 0.995)
    records = np.abs(means.records - number) <= means.records_margin
    assert 0.94 <= records.mean() <= 0.99


@pytest.mark.parametrize("steps", [1000, 1])
def test_at_most_one_empty_region_in_all_is_told_on_average(steps: int) -> None:
    random, noise = np.random.default_rng(4), noise_of(steps)
    outcomes = [
        noise.means(drawn(noise, random, 1000), drawn(noise, random, 1000), 1000).told.sum()
        for _ in range(40)
    ]
    # One of 1,000 empty regions is expected to get a mean; 0.5 more is about four standard errors.
    assert np.mean(outcomes) <= 1.5
    few = noise.means(drawn(noise, random, 40_000), drawn(noise, random, 40_000), 3)
    assert few.told.mean() <= 0.055


def test_sums_of_shares_of_regions_are_covered_too() -> None:
    random, noise = np.random.default_rng(8), noise_of(1000)
    weights = np.array([1.0, 1.0, 1.0, 0.5, 0.25])
    number = random.integers(200, 400, (4000, 5))
    share = random.uniform(0, 1, (4000, 1))
    above = np.rint(1000 * share * number)
    below = 1000 * number - above
    shape = above.shape
    up, down = (
        (each + drawn(noise, random, above.size).reshape(shape)) @ weights
        for each in (above, below)
    )
    squares = np.full(4000, float(np.sum(weights**2)))
    means = noise.means_of_sums(up, down, squares, np.ones(4000), 100)
    true = (above @ weights) / ((above + below) @ weights)
    covered = (means.low <= true) & (true <= means.high)
    assert means.told.mean() > 0.95
    assert 0.94 <= covered[means.told].mean() <= 0.985


def test_a_region_without_enough_records_has_no_mean() -> None:
    noise = noise_of(1000)
    means = noise.means(np.array([900_000, 4_000, -4_000]), np.array([600_000, 5_000, 3_000]), 3)
    assert means.told.tolist() == [True, False, False]
    assert means.share[0] == pytest.approx(0.6)
    assert np.isnan(means.low[1:]).all()
    assert noise.least_records(1000) > noise.least_records(30) > noise.least_records(20) > 0
    assert noise.least_records(20) == noise.least_records(2)


def test_ranks_are_those_that_intervals_allow() -> None:
    noise = ShareNoise(DiscreteLaplace(Fraction(1), 1000), 1000)
    above = np.array([800_000, 500_000, 495_000, 200_000, 10])
    below = np.array([200_000, 500_000, 505_000, 800_000, 5])
    best, worst = noise.ranks(above, below, 5)
    assert best[:4].tolist() == [1, 2, 2, 4]
    assert worst[:4].tolist() == [1, 3, 3, 4]
    assert np.isnan(best[4])
    assert np.isnan(worst[4])
