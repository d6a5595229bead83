from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess.non_negative import non_negative


def examples(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    counts = np.rint(random.laplace(0, 20, 60) + random.choice([0, 0, 0, 50], 60))
    return counts, random.lognormal(0, 1, 60)


@pytest.mark.parametrize("seed", range(8))
def test_results_are_not_negative_and_keep_the_total(seed: int) -> None:
    counts, variance = examples(seed)

    result = non_negative(counts, variance)

    assert result.min() >= 0
    assert result.sum() == pytest.approx(max(counts.sum(), 0))


@pytest.mark.parametrize("seed", range(8))
def test_no_move_between_two_counts_reduces_the_distance(seed: int) -> None:
    counts, variance = examples(seed)
    result = non_negative(counts, variance)
    if counts.sum() <= 0:
        assert not result.any()
        return
    slope = 2 * (result - counts) / variance

    # Moving a little from count i to count j changes the squared distance to `counts`, weighted by
    # 1/variance, at the rate slope[j] - slope[i], which must not be negative if count i is above 0.
    assert slope.min() >= slope[result > 1e-9].max() - 1e-9


def test_it_does_not_inflate_the_total_of_an_empty_map_as_clamping_does() -> None:
    noise = np.random.default_rng(3).laplace(0, 10, 100_000)
    noise[:100] += 500

    result = non_negative(noise, np.ones(100_000))

    assert abs(result.sum() - 50_000) < 20_000
    assert np.maximum(noise, 0).sum() > 500_000
    assert np.mean(result[100:] > 0) < 0.2
