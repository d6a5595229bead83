from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess.empirical_bayes import CLEAR, posterior

Floats = NDArray[np.float64]


def noisy(truth: Floats, seed: int) -> Floats:
    return truth + np.random.default_rng(seed).laplace(0, 1, truth.size)


def test_counts_of_empty_places_are_shrunk_almost_to_zero() -> None:
    values = noisy(np.zeros(4000), 1)

    mean = posterior(values, np.full(4000, 0.05)).mean

    assert np.abs(mean).mean() < 0.05
    assert mean.min() >= 0


def test_large_counts_are_hardly_shrunk() -> None:
    values = np.array([CLEAR + 1, 500.0])

    shrunk = posterior(values, np.array([0.1, 0.1]))
    mean, variance = shrunk.mean, shrunk.variance

    np.testing.assert_allclose(mean, values)
    np.testing.assert_allclose(variance, 2)


@pytest.mark.parametrize(("level", "most"), [(0.5, 0.1), (2.0, 0.6), (10.0, 0.95)])
def test_it_has_smaller_errors_where_places_are_alike(level: float, most: float) -> None:
    truth = np.random.default_rng(2).gamma(3, level / 3, 4000)
    values = noisy(truth, 3)

    found = posterior(values, np.full(4000, level))
    mean, variance = found.mean, found.variance

    shrunk, raw = np.mean((mean - truth) ** 2), np.mean((values - truth) ** 2)
    assert shrunk < most * raw
    # The posterior variance should equal the mean squared error, or be slightly larger.
    assert 0.8 < variance.mean() / shrunk < 3


def test_misleading_priors_do_little_harm() -> None:
    truth = np.full(2000, 12.0)
    values = noisy(truth, 4)

    mean = posterior(values, np.full(2000, 0.2)).mean

    assert np.mean((mean - truth) ** 2) < 1.3 * np.mean((values - truth) ** 2)


def test_means_rise_with_the_counts() -> None:
    values = np.linspace(-20, 50, 3000)

    mean = posterior(values, np.full(3000, 1.0)).mean

    assert (np.diff(mean) > -1e-9).all()


def test_a_single_count_is_accepted() -> None:
    shrunk = posterior(np.array([3.0]), np.array([0.0]))
    mean, variance = shrunk.mean, shrunk.variance

    assert 0 <= mean[0] <= 3
    assert variance[0] > 0
