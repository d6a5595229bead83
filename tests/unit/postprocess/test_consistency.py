from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess.consistency import consistent
from dpgeo.spatial.boxes import quarters, summed_area

Floats = NDArray[np.float64]
Tree = tuple[NDArray[np.int64], NDArray[np.int64]]


def random_tree(seed: int) -> Tree:
    """Parents and levels of a forest with nodes of none to five children."""
    random = np.random.default_rng(seed)
    parent, level = [-1, -1], [0, 0]
    for node in range(40):
        if node < len(parent) and level[node] < 4:
            children = int(random.integers(0, 6))
            parent += [node] * children
            level += [level[node] + 1] * children
    return np.array(parent), np.array(level)


def leaves_below(parent: NDArray[np.int64]) -> NDArray[np.float64]:
    """Which leaves (columns) each node (row) is the sum of."""
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
    """Estimates and variances of all nodes by the normal equations."""
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

    found = consistent(counts, variance, parent, level)

    np.testing.assert_allclose(found.value, value, rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(found.variance, error, rtol=1e-8)


def test_nodes_are_sums_of_their_children_and_consistent_counts_stay() -> None:
    parent, level = random_tree(3)
    truth = leaves_below(parent) @ np.arange(5.0, 5 + leaves_below(parent).shape[1])
    variance = np.random.default_rng(1).lognormal(0, 1, len(parent))
    noisy = truth + np.random.default_rng(2).normal(0, 9, len(parent))

    found = consistent(noisy, variance, parent, level).value

    for node in np.unique(parent[parent >= 0]):
        assert found[node] == pytest.approx(found[parent == node].sum())
    np.testing.assert_allclose(consistent(truth, variance, parent, level).value, truth)


def test_noise_that_vanishes_is_trusted() -> None:
    parent, level = np.array([-1, 0, 0]), np.array([0, 1, 1])

    known_total = consistent(np.array([10, 3, 3]), np.array([0, 1, 1.0]), parent, level)
    known_parts = consistent(np.array([10, 3, 3]), np.array([1.0, 0, 0]), parent, level)
    all_known = consistent(np.array([6, 3, 3]), np.zeros(3), parent, level)

    np.testing.assert_allclose(known_total.value, [10, 5, 5])
    np.testing.assert_allclose(known_parts.value, [6, 3, 3])
    np.testing.assert_allclose(all_known.value, [6, 3, 3])
    assert np.isfinite(all_known.variance).all()


def test_a_leaf_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(ValueError, match="Every leaf"):
        consistent(
            np.array([4, 2, 0]), np.array([1, 1, np.inf]), np.array([-1, 0, 0]), np.array([0, 1, 1])
        )


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (8, 8), (13, 6)])
def test_quartering_ends_in_single_cells_that_cover_the_area_once(shape: tuple[int, int]) -> None:
    inside = np.random.default_rng(5).random(shape) < 0.6
    inside[0, 0] = True
    table = summed_area(inside)
    boxes = np.array([[0, shape[0], 0, shape[1]]], dtype=np.int32)
    for _ in range(4):
        boxes, parent = quarters(boxes, table)
        assert (np.diff(parent) >= 0).all()

    covered = np.zeros(shape, dtype=np.int64)
    for top, bottom, left, right in boxes:
        assert (bottom - top, right - left) == (1, 1)
        covered[top, left] += 1
    np.testing.assert_array_equal(covered, inside)
