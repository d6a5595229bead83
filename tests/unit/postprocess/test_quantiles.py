"""Intervals of quantiles: coverage, whether empty regions get quartiles, and sums over regions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.quantiles import MEDIAN, QUARTILES, HistogramNoise
from tests.noise import laplace

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

REGIONS = 4000
NOISE = HistogramNoise(DiscreteLaplace(Fraction(1), 20), 50)


def drawn(noise: HistogramNoise, random: np.random.Generator, *shape: int) -> Ints:
    stop = 1 - np.exp(-float(laplace(noise.noise).rate))
    return random.geometric(stop, shape) - random.geometric(stop, shape)


def counted(values: Floats, bins: int) -> Ints:
    """Return histograms (n, bins), one of each row of values (n, m) between 0 and 1."""
    bin_of = np.minimum((values * bins).astype(np.int64), bins - 1)
    number = np.arange(len(values))[:, None] * bins + bin_of
    return np.bincount(number.ravel(), minlength=len(values) * bins).reshape(-1, bins)


def wide(random: np.random.Generator, regions: int, records: int) -> Floats:
    """Return values (regions, records) from 0 to 1, normal around a random mean of each region."""
    middle = random.uniform(0.3, 0.7, (regions, 1))
    return np.clip(random.normal(middle, 0.1, (regions, records)), 0, 1)


@pytest.mark.parametrize(("bound", "bins"), [(5, 20), (20, 50)])
def test_the_test_of_a_quantile_errs_five_times_in_a_hundred(bound: int, bins: int) -> None:
    random = np.random.default_rng(bins)
    noise = HistogramNoise(DiscreteLaplace(Fraction(1), bound), bins)
    true = counted(wide(random, REGIONS, 2000), bins)
    exact = HistogramNoise(DiscreteLaplace(Fraction(10**6), 1), bins).quartiles(true, REGIONS)
    noisy = true + drawn(noise, random, REGIONS, bins)
    for column, p in enumerate(QUARTILES):
        assert 0.94 <= noise.covers(noisy, p, exact.share[:, column]).mean() <= 0.965


@pytest.mark.parametrize("lumpy", [False, True], ids=["spread", "round values"])
def test_intervals_hold_the_quartiles_of_the_records_at_least_95_times(lumpy: bool) -> None:
    random = np.random.default_rng(6)
    values = wide(random, REGIONS, 1501)
    if lumpy:
        values = np.rint(values * 20) / 20 + 1e-9  # all values are at lower edges of bins
    found = NOISE.quartiles(counted(values, 50) + drawn(NOISE, random, REGIONS, 50), REGIONS)
    assert found.told.mean() > 0.95
    for column, p in enumerate(QUARTILES):
        true, told = np.quantile(values, p, axis=1), ~np.isnan(found.low[:, column])
        held = (found.low[:, column] <= true) & (true <= found.high[:, column])
        assert 0.95 <= held[told].mean() <= 0.999
        assert (found.low <= found.share)[told, column].all()
        assert (found.share <= found.high)[told, column].all()
    assert (np.diff(found.share[~np.isnan(found.share).any(axis=1)], axis=1) >= 0).all()
    records = np.abs(found.records - 1501) <= found.records_margin
    assert 0.94 <= records.mean() <= 0.96


def test_at_most_one_empty_region_in_all_is_told_on_average() -> None:
    random = np.random.default_rng(4)
    told, reached = 0, 0
    for _ in range(40):
        empty = drawn(NOISE, random, 1000, 50)
        told += int(NOISE.quartiles(empty, 1000).told.sum())
        reached += int((empty.sum(axis=1) >= NOISE.least_records(1000)).sum())
    assert told <= reached
    assert 0.4 <= reached / 40 <= 1.6  # expected: 1 region; 0.6 is 4 standard errors


def test_sums_of_shares_of_regions_are_covered_too() -> None:
    random = np.random.default_rng(8)
    shares = np.array([1, 1, 1, 0.6, 0.3])
    true = counted(wide(random, 5 * REGIONS, 300), 50).reshape(REGIONS, 5, 50)
    noisy = true + drawn(NOISE, random, REGIONS, 5, 50)
    sums, exact = (np.einsum("rsb,s->rb", each, shares) for each in (noisy, true))
    most = np.full(REGIONS, shares[3])
    found = NOISE.quartiles_of_sums(
        sums, np.full(REGIONS, float(np.square(shares).sum())), most, REGIONS
    )
    silent = HistogramNoise(DiscreteLaplace(Fraction(10**6), 1), 50)
    truth = silent.quartiles(exact, REGIONS).share[:, MEDIAN]
    held = (found.low[:, MEDIAN] <= truth) & (truth <= found.high[:, MEDIAN])
    assert held[found.told].mean() >= 0.95
    records = np.abs(found.records - exact.sum(axis=1)) <= found.records_margin
    assert 0.94 <= records.mean() <= 0.98


def test_ranks_hold_for_all_regions_together() -> None:
    random, wrong = np.random.default_rng(9), 0
    values = np.sort(
        np.clip(random.normal(np.linspace(0.2, 0.8, 40)[:, None], 0.1, (40, 1001)), 0, 1)
    )
    true = np.argsort(np.argsort(-np.median(values, axis=1))) + 1
    counts, some = counted(values, 50), 0
    for _ in range(60):
        best, worst = NOISE.ranks(counts + drawn(NOISE, random, 40, 50), 40)
        told = ~np.isnan(best)
        some += int((worst[told] - best[told] < 39).sum())
        wrong += not ((best <= true) & (true <= worst))[told].all()
    assert wrong <= 9  # at 95 % coverage, at most 3 of 60 are expected
    assert some > 60 * 20
