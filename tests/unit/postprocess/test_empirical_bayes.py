from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess.empirical_bayes import posterior

Floats = NDArray[np.float64]


def noisy(truth: Floats, seed: int) -> Floats:
    return truth + np.random.default_rng(seed).laplace(0, 1, truth.size)


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
