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
