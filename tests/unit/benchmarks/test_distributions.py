"""Measures of the distance between maps as distributions, tested on known distances."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.evaluation.distributions import (
    divergence,
    earth_movers,
    precision_at,
)


def test_the_divergence_is_that_of_the_shares() -> None:
    truth = np.array([[8, 8], [0, 16]])
    assert divergence(truth, 3 * truth) == pytest.approx(0, abs=0.02)
    value = divergence(np.array([1, 1]) * 1000, np.array([1, 3]) * 1000)
    assert value == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3))
    assert np.isfinite(divergence(truth, -truth))
    with pytest.raises(ValueError, match="somebody"):
        divergence(np.zeros(3), np.ones(3))


def test_precision_counts_hits_among_the_largest() -> None:
    truth = np.array([9, 8, 7, 7, 1, 0])
    assert precision_at(truth, truth, 3) == 1
    assert precision_at(truth, np.array([9, 8, 0, 7, 1, 0]), 3) == 1
    assert precision_at(truth, truth[::-1], 3) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("down", "across"), [(0, 3), (4, 0), (3, 4)])
def test_a_shift_costs_its_length(down: int, across: int) -> None:
    here, there = np.zeros((12, 12)), np.zeros((12, 12))
    here[2:5, 3:6] = [[1, 2, 0], [4, 1, 1], [0, 3, 2]]
    there[2 + down : 5 + down, 3 + across : 6 + across] = here[2:5, 3:6]
    cost = earth_movers(here, 7 * there, side=100)
    assert cost == pytest.approx(100 * np.hypot(down, across), rel=1e-3)
    assert earth_movers(here, here) == 0
    with pytest.raises(ValueError, match="without anybody"):
        earth_movers(here, -here)
