"""Published mechanisms that `benchmarks.peers` compares against, and their known errors."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from benchmarks import peers
from tests.requirements import need

COUNTS = np.random.default_rng(0).poisson(3, (64, 64))


def task(epsilon: float, known_total: float | None = None) -> peers.Task:
    random = np.random.default_rng(1)
    return peers.Task(counts=COUNTS, epsilon=epsilon, random=random, known_total=known_total)


@pytest.mark.parametrize("name", peers.PEERS)
def test_without_noise_all_return_the_counts(name: str) -> None:
    if name == "HDMM":
        need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    assert np.allclose(peers.PEERS[name](task(1e12)), COUNTS, atol=1e-6)


def test_the_total_is_paid_for_unless_it_is_known() -> None:
    assert task(1.0, known_total=5000.0).total() == (5000.0, 1.0)
    total, left = task(1.0).total()
    assert total != COUNTS.sum()
    assert left == pytest.approx(0.95)


def test_a_hierarchy_has_levels_that_agree_where_that_pays() -> None:
    """The hierarchy uses the branching factor with the smallest error.

    With 128 cells along each side, 12 children per axis give two levels and a smaller error than
    counting single cells only.
    """
    assert peers._best_branching(128) == 12


def test_the_strategy_for_boxes_reaches_its_known_error() -> None:
    """The strategy for boxes reaches its published error, 0.52 times that of single cells.

    The error is the root mean square over all boxes of a grid of 128 x 128 cells.
    """
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    strategy = peers.box_strategy(128)
    place = np.arange(128)
    gram = (np.minimum.outer(place, place) + 1.0) * (128 - np.maximum.outer(place, place))
    assert strategy.sum(axis=0) == pytest.approx(1)
    along_one_axis = np.trace(np.linalg.inv(strategy.T @ strategy) @ gram) / np.trace(gram)
    assert 0.51 < along_one_axis < 0.53


def test_the_strategy_is_better_than_single_cells_where_its_first_start_ends_there() -> None:
    """With 64 cells a side, the best of several optimised strategies beats counting single cells.

    From its first starting point, the optimisation ends at the strategy that counts single cells.
    """
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    strategy = peers.box_strategy(64)
    place = np.arange(64)
    gram = (np.minimum.outer(place, place) + 1.0) * (64 - np.maximum.outer(place, place))
    along_one_axis = np.trace(np.linalg.inv(strategy.T @ strategy) @ gram) / np.trace(gram)
    assert along_one_axis < 0.75
