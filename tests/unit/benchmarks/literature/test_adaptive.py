"""Mechanisms that choose what they measure: sparse vector, multiplicative weights, kd-tree."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.literature import thresholds, trees, weights
from tests.unit.benchmarks.literature.noise import WithoutLaplace, WithoutNoise, rare

ANSWERS = np.array([1.0, 9, 3, 8, 10, 2])


def test_the_sparse_vector_stops_after_so_many_answers() -> None:
    above = thresholds.above_threshold(ANSWERS, 5.0, 2, 1.0, WithoutNoise())
    assert above.tolist() == [False, True, False, True, False, False]


@pytest.mark.parametrize(("one_way", "factor"), [(False, 2), (True, 1)])
def test_threshold_and_answers_cost_epsilon_together(one_way: bool, factor: int) -> None:
    """The epsilons of the threshold's noise and of the answers' noise add up to the epsilon paid.

    The threshold costs 1/scale. Each of three answers "above" costs 2/scale, or 1/scale if all
    answers change in one direction.
    """
    random = WithoutNoise()
    thresholds.above_threshold(ANSWERS, 5.0, 3, 0.7, random, one_way=one_way)
    of_threshold, of_answers = random.scales
    assert 1 / of_threshold + factor * 3 / of_answers == pytest.approx(0.7)
    assert of_answers / (factor * 3) * (factor * 3) ** (2 / 3) == pytest.approx(of_threshold)


def chances(answers: list[float], mechanism: str, draws: int = 30_000) -> float:
    """Return how often a mechanism reports the first of two answers as above 0, the second not."""
    random = np.random.default_rng(1)
    happened = 0
    for _ in range(draws):
        if mechanism == "noiseless":
            above = thresholds.noiseless_queries(np.array(answers), 0.0, 1.0, random)
        else:
            above = thresholds.above_threshold(np.array(answers), 0.0, 2, 1.0, random)
        happened += bool(above[0] and not above[1])
    return happened / draws


def test_without_noise_on_answers_neighbours_are_told_apart_for_certain() -> None:
    """Without noise on answers, an outcome of sparse vector reveals for certain the dataset used.

    Between the two neighbouring datasets, one answer rises and the other falls by 1, so an outcome
    of one dataset is impossible for the other. In the published correction of sparse vector, the
    probabilities of this outcome in the two differ by a factor of less than e.
    """
    assert chances([1, 0], "noiseless", 2000) > 0.1
    assert chances([0, 1], "noiseless", 2000) == 0
    more, less = chances([1, 0], "corrected"), chances([0, 1], "corrected")
    assert 1 < more / less < np.e


def test_mwem_measures_the_worst_query_and_follows_it() -> None:
    counts = np.array([90.0, 10, 0, 0])
    queries = np.array([[1.0, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1]])
    random = WithoutNoise()
    estimate = weights.mwem(counts, queries, 1.0, random, rounds=4)
    assert estimate.sum() == pytest.approx(100)
    assert estimate[0] > 70
    bought, *rounds = random.scales
    assert 1 / bought + 2 * sum(1 / scale for scale in rounds) == pytest.approx(1.0)


def test_mwem_chooses_queries_with_the_right_odds() -> None:
    """MWEM chooses between two queries with the odds of the exponential mechanism.

    The errors are 6 and 3, and the choice uses half of a round's epsilon of 0.5, which gives odds
    of exp(0.5 * 3/2).
    """
    counts, queries = np.array([11.0, 2, 5, 2]), np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    draws, worse = 1500, 0
    random = WithoutLaplace(3)
    for _ in range(draws):
        estimate = weights.mwem(counts, queries, 1 / 0.95, random, rounds=1)
        # Measuring the second query, which counts cell 1, would give cells 1 and 2 different
        # estimates. If they are the same, the first query was chosen.
        worse += bool(np.isclose(estimate[1], estimate[2]))
    assert not rare(worse, draws, 1 / (1 + np.exp(-0.5 * (6 - 3) / 2)))


def test_pmw_measures_only_what_the_estimate_gets_wrong() -> None:
    counts = np.array([90.0, 10, 0, 0])
    queries = np.array([[1.0, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    random = WithoutNoise()
    answers = weights.pmw(counts, queries, 1.0, random, updates=1, threshold=30.0)
    assert answers[:2].tolist() == [100, 90]
    assert answers[2] != 10
    total, threshold, compared, answer = random.scales
    spent = 1 / total + 1 / threshold + 2 / compared + 1 / answer
    assert spent == pytest.approx(1.0)


def test_a_kd_tree_halves_people_and_spends_epsilon() -> None:
    counts = np.tile([[1.0, 3], [3, 1]], (2, 2))
    random = WithoutNoise()
    tree = trees.kd_tree(counts, 1.0, random, levels=4)
    assert tree.sum() == pytest.approx(counts.sum())
    [(scale, boxes)] = random.asked
    assert boxes == 1 + 2 + 4 + 8 + 16
    assert np.allclose(tree, counts)
    assert 5 / scale == pytest.approx(0.7)


def test_single_cells_are_not_halved() -> None:
    counts = np.array([[40.0, 1, 1, 1]])
    tree = trees.kd_tree(counts, 1.0, WithoutNoise(), levels=6)
    assert np.allclose(tree, counts)


@pytest.mark.parametrize("levels", [1, 2])
def test_a_kd_tree_cuts_with_the_right_odds(levels: int) -> None:
    """A kd-tree chooses cuts with the odds of the exponential mechanism.

    For three cells with 5, 1 and 0 people, the two possible cuts have the scores -4 and -6. All
    levels share three tenths of epsilon.
    """
    draws, first, epsilon = 2000, 0, 4.0
    random = WithoutLaplace(4)
    for _ in range(draws):
        label, _ = trees.kd_tree_boxes(np.array([[5.0, 1, 0]]), epsilon, random, levels=levels)
        # `label` numbers each cell's leaf. With one level and with two, these numbers mean that the
        # first cell was cut off first.
        first += label.tolist() in ([[0, 1, 1]], [[0, 1, 2]])
    assert not rare(first, draws, 1 / (1 + np.exp(-0.3 * epsilon / levels * (6 - 4) / 2)))
