from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess.kdtree import Rule, grow_kdtree

VARIANCE = Rule(cell_variance=1.0, total_variance=1.0, suspicion=False)
SUSPICION = Rule(cell_variance=1.0, total_variance=1.0)


def everywhere(cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.ones(cells.shape, dtype=np.bool_)


def laplace(random: np.random.Generator, scale: float, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return discrete Laplace noise as the difference of two geometric variables.

    It is accurate enough to test trees, but not for releases.
    """
    chance = 1 - np.exp(-1 / scale)
    return random.geometric(chance, shape) - random.geometric(chance, shape)


def laplace_variance(scale: float) -> float:
    ratio = np.exp(-1 / scale)
    return float(2 * ratio / (1 - ratio) ** 2)


@pytest.mark.parametrize("rule", [VARIANCE, SUSPICION])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (8, 1), (13, 21), (64, 64)])
def test_boxes_cover_every_cell_exactly_once(shape: tuple[int, int], rule: Rule) -> None:
    cells = np.random.default_rng(2).poisson(30, shape) ** 2

    boxes = grow_kdtree(cells, everywhere(cells), rule)

    covered = np.zeros(shape, dtype=np.int64)
    for first_row, after_row, first_column, after_column in boxes:
        covered[first_row:after_row, first_column:after_column] += 1
    assert (covered == 1).all()
    assert boxes.dtype == np.int32


def test_it_splits_where_the_squared_deviation_falls_most() -> None:
    cells = np.zeros((6, 8), dtype=np.int64)
    cells[:, 3:] = 40
    cells[4:, 3:] = 90

    boxes = grow_kdtree(cells, everywhere(cells), VARIANCE)

    # An exhaustive search shows that the cut before column 3 is the first cut that leaves the least
    # squared deviation.
    def deviation(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
        return float(first.size * first.var() + second.size * second.var())

    by_column = {cut: deviation(cells[:, :cut], cells[:, cut:]) for cut in range(1, 8)}
    by_row = {cut: deviation(cells[:cut], cells[cut:]) for cut in range(1, 6)}
    assert min(by_column, key=by_column.__getitem__) == 3
    assert min(by_column.values()) < min(by_row.values())
    assert boxes.tolist() == [[0, 6, 0, 3], [0, 4, 3, 8], [4, 6, 3, 8]]


def test_pure_noise_is_seldom_split_on_variance_alone() -> None:
    rule = Rule(
        cell_variance=laplace_variance(20), total_variance=laplace_variance(10), suspicion=False
    )
    random = np.random.default_rng(3)
    splits = 0
    for _ in range(300):
        cells = laplace(random, 20, (64, 64))
        splits += len(grow_kdtree(cells, everywhere(cells), rule)) > 1
    # A map is split if the variance of its cells exceeds that of noise by three standard
    # deviations: on pure noise in about one of 700 maps. Without that allowance, half of the maps
    # would be split.
    assert splits <= 8


def test_cells_outside_the_area_change_nothing() -> None:
    random = np.random.default_rng(6)
    cells = random.poisson(3, (40, 40)) * 100
    inside = random.random((40, 40)) < 0.7

    boxes = grow_kdtree(cells, inside, SUSPICION)
    others = grow_kdtree(np.where(inside, cells, 10**9), inside, SUSPICION)

    np.testing.assert_array_equal(boxes, others)
