from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess.consistency import consistent

Floats = NDArray[np.float64]
Tree = tuple[NDArray[np.int64], NDArray[np.int64]]


def random_tree(seed: int) -> Tree:
    """Return the parents and levels of a random forest with at most five children per node."""
    random = np.random.default_rng(seed)
    parent, level = [-1, -1], [0, 0]
    for node in range(40):
        if node < len(parent) and level[node] < 4:
            children = int(random.integers(0, 6))
            parent += [node] * children
            level += [level[node] + 1] * children
    return np.array(parent), np.array(level)


def leaves_below(parent: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a 0/1 matrix (nodes, leaves) whose rows mark the leaves below each node."""
    leaf = np.flatnonzero(~np.isin(np.arange(len(parent)), parent))
    member = np.zeros((len(parent), len(leaf)))
    for column, node in enumerate(leaf):
        while node >= 0:
            member[node, column] = 1
            node = parent[node]
    return member


def dense_solution(
    counts: Floats, variance: Floats, parent: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return the estimates and variances of all nodes, solved by the normal equations."""
    member = leaves_below(parent)
    weights = 1 / variance
    covariance = np.linalg.inv(member.T @ (weights[:, None] * member))
    leaf = covariance @ (member.T @ (weights * np.where(weights > 0, counts, 0)))
    return member @ leaf, np.diag(member @ covariance @ member.T)


@pytest.mark.parametrize("seed", range(12))
def test_it_solves_the_generalised_least_squares_problem(seed: int) -> None:
    parent, level = random_tree(seed)
    random = np.random.default_rng(100 + seed)
    counts = random.normal(0, 50, len(parent))
    variance = random.lognormal(0, 2, len(parent))
    inner = np.isin(np.arange(len(parent)), parent)
    variance[inner & (random.random(len(parent)) < 0.4)] = np.inf
    value, error = dense_solution(counts, variance, parent)

    solution = consistent(counts, variance, parent, level)

    np.testing.assert_allclose(solution.value, value, rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(solution.variance, error, rtol=1e-8)


def test_results_are_finite_for_very_different_noise_scales() -> None:
    """Results stay finite even if noise scales differ greatly.

    At epsilon 1000, the variance of one level can be 1e-50 of another's.
    """
    counts, parent, level = np.array([7, 3, 3, 3]), np.array([-1, 0, 1, 1]), np.array([0, 1, 2, 2])

    for variance in ([1e-90, 1e10, 1e-40, 1e-40], [1e10, 1e-99, 1e-40, 1e3], [1e-300, 0, 1e-8, 1]):
        solution = consistent(counts, np.array(variance), parent, level)

        assert np.isfinite(solution.value).all()
        assert (solution.variance > 0).all()
        assert solution.value[0] == pytest.approx(solution.value[1])


def test_a_leaf_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(ValueError, match="Every leaf"):
        consistent(
            np.array([4, 2, 0]), np.array([1, 1, np.inf]), np.array([-1, 0, 0]), np.array([0, 1, 1])
        )
