"""Partitions of cells, and what the literature does with them: decision trees and blocking."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.literature import classification, linkage, partitions, trees
from tests.unit.benchmarks.literature.noise import WithoutLaplace, WithoutNoise, rare


def test_a_box_is_cut_where_its_halves_are_most_alike() -> None:
    cells = np.array([[9.0, 9, 1, 1], [9, 9, 1, 1], [30, 30, 30, 30]])
    label = partitions.kd_boxes(cells, 0.0)
    assert len(np.unique(label)) == 3
    for box in range(3):
        assert np.ptp(cells[label == box]) == 0
    # Boxes are cut while the variance of their cells exceeds the threshold. The variance is 149.6
    # for all cells, and 16 for the first two rows.
    assert np.ptp(partitions.kd_boxes(cells, 17.0)) == 1
    assert not partitions.kd_boxes(cells, 150.0).any()


def test_the_tree_cuts_categories_of_any_number_of_attributes() -> None:
    cells = np.zeros((2, 3, 4))
    cells[:, 1:, 2] = 7
    label = partitions.kd_boxes(cells, 0.0)
    assert set(np.unique(label[cells == 7])).isdisjoint(np.unique(label[cells == 0]))


def test_cells_and_boxes_cost_epsilon_together() -> None:
    random = WithoutNoise()
    counts = np.array([[4.0, 4], [1, 1]])
    found = partitions.dpcube(counts, 0.5, random, cell_share=0.2, threshold=0.0)
    assert np.allclose(found.uniform(), counts)
    assert np.allclose(found.least_squares(), counts)
    assert random.asked == [(pytest.approx(10.0), 4), (pytest.approx(2.5), 2)]


def test_least_squares_shares_what_a_box_lacks_by_variances() -> None:
    """Least squares divides a box's difference from its cells in proportion to their variances.

    The partitions are those of the source's figure 7, with the totals 31, 37, 73 and 0. If all
    variances are equal, each of n cells gets 1/(n + 1) of the difference between the box's count
    and the sum of its cells.
    """
    cells = np.array([[10.0, 21, 37], [20, 0, 0], [53, 0, 0]])
    label = np.array([[0, 0, 1], [2, 3, 3], [2, 3, 3]])
    counts = np.array([34.0, 37, 73, -5])
    found = partitions.Partitions(label, counts, cells, 2.0, 2.0)
    expected = np.array([[11.0, 22, 37], [20, -1, -1], [53, -1, -1]])
    assert found.least_squares() == pytest.approx(expected)
    even = np.array([[17.0, 17, 37], [36.5, -1.25, -1.25], [36.5, -1.25, -1.25]])
    assert found.uniform() == pytest.approx(even)


def test_unevenness_is_weighted_by_people_and_by_cells() -> None:
    counts, label = np.array([[1.0, 3], [10, 10]]), np.array([[0, 0], [1, 1]])
    assert partitions.unevenness(counts, label) == (4.0, 2.0)
    # The published measure of a box is its people times their variance, so an empty cell that joins
    # the box raises the measure little: here from 4 to 4 * 14/9.
    counts, whole = np.array([[0.0, 1, 3]]), np.zeros((1, 3), dtype=np.int64)
    assert partitions.unevenness(counts, whole) == pytest.approx((4 * 14 / 9, 14 / 3))


def test_the_leaves_of_a_kd_tree_have_their_counts() -> None:
    counts = np.array([[40.0, 1, 1, 1]])
    label, told = trees.kd_tree_boxes(counts, 1.0, WithoutNoise(), levels=6)
    assert told[label].tolist() == counts.tolist()


def people() -> NDArray[np.float64]:
    """Return a histogram of 127 people by two attributes and, last, a class of 0 or 1.

    For all but seven people, the first attribute equals the class.
    """
    histogram = np.zeros((2, 3, 2))
    histogram[0, :, 0], histogram[1, :, 1] = [30, 20, 10], [10, 20, 30]
    histogram[0, 0, 1], histogram[1, 2, 0] = 4, 3
    return histogram


def test_id3_learns_the_class_from_the_attribute_that_tells_it() -> None:
    learned = classification.id3(people())
    assert learned.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert classification.accuracy(learned, people()) == pytest.approx(120 / 127)


def test_id3_takes_the_larger_class_above_where_nobody_is() -> None:
    histogram = people()
    histogram[1, 1] = -5.0
    assert classification.id3(histogram)[1].tolist() == [1, 1, 1]


def test_private_id3_spends_epsilon_on_the_longest_path() -> None:
    """Along the longest path of the tree, the queries cost epsilon together.

    With two attributes there are three levels. Each costs a noisy count, and then either the choice
    of an attribute or noisy counts of the classes.
    """
    random = WithoutNoise()
    histogram = 1000 * people()
    assert classification.private_id3(histogram, 0.9, random).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert 1 / np.array(random.scales) == pytest.approx(0.15)
    # The tree's levels have 1, 2 and 6 nodes, each with a noisy count. The six leaves also have
    # noisy counts of the two classes.
    assert [draws for _, draws in random.asked].count(2) == 6
    assert len(random.asked) == 1 + 2 + 2 * 6


def test_private_id3_chooses_attributes_with_the_right_odds() -> None:
    """Private ID3 chooses attributes with the odds of the exponential mechanism.

    The two attributes predict 8 and 6 of 8 people's classes; the choice at the root has an epsilon
    of 1. Its two children are too small to be divided again, so the classes learned show which
    attribute was chosen.
    """
    histogram = np.zeros((2, 2, 2))
    histogram[0, :, 0], histogram[1, :, 1] = [3, 1], [1, 3]
    random, draws, first = WithoutLaplace(6), 1500, 0
    for _ in range(draws):
        classes = classification.private_id3(histogram, 6.0, random).tolist()
        assert classes in ([[0, 0], [1, 1]], [[0, 1], [0, 1]])
        first += classes == [[0, 0], [1, 1]]
    assert not rare(first, draws, 1 / (1 + np.exp(-(8 - 6) / 2)))


def test_pairs_are_compared_in_the_same_block_unless_left_out() -> None:
    label, first, second = np.array([0, 0, 1]), np.array([0, 1, 2, 2]), np.array([1, 2, 2, 0])
    exact = (np.array([2.0, 2]), np.array([2.0, 2]))
    figures = linkage.linked(label, first, second, exact, 3)
    # Three people are known to both parties. Their cells, by party, are 0 and 1, 1 and 2, 2 and 2.
    # The second person's cells are in different blocks, so that pair of records is not compared.
    assert figures == pytest.approx({"reduction": 0.5, "padded": 0.5, "kept": 2 / 3})
    short = (np.array([1.0, 2]), np.array([2.0, 4]))
    figures = linkage.linked(label, first, second, short, 3)
    # The first party leaves out half of its records of block 0; the second adds two dummy records
    # to block 1.
    assert figures == pytest.approx(
        {"reduction": 0.5, "padded": 1 - (2 + 8) / 16, "kept": (0.5 + 1) / 3}
    )


def test_least_squares_err_more_in_partitions_of_their_own_noise() -> None:
    """Least-squares answers err more in partitions that were chosen by the noise of their cells.

    The variances of the source's equation 35 ignore how partitions were chosen. On an empty map,
    95 % intervals with these variances contain only 87 % of the totals.
    """
    covered = []
    for seed in range(4):
        found = partitions.dpcube(np.zeros((64, 64)), 0.1, np.random.default_rng(seed))
        size = np.bincount(found.label.ravel())
        total = np.bincount(found.label.ravel(), found.least_squares().ravel())
        variance = 1 / (1 / (size * found.of_cells) + 1 / found.of_counts)
        covered.append(np.mean(np.abs(total) <= 1.96 * np.sqrt(variance)))
    assert np.mean(covered) == pytest.approx(0.87, abs=0.01)
