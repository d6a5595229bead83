"""Published mechanisms for one-dimensional histograms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.literature import histograms
from tests.unit.benchmarks.literature.noise import WithoutLaplace, WithoutNoise, rare

STEPS = np.repeat([5.0, 40.0, 12.0], [3, 2, 5])


def test_noise_first_keeps_steps_and_spends_epsilon_once() -> None:
    random = WithoutNoise()
    assert np.allclose(histograms.noise_first(STEPS, 0.5, random), STEPS)
    assert random.asked == [(2.0, 10)]


def test_noise_first_joins_bins_that_differ_by_less_than_noise() -> None:
    """With noise of variance v, bins that differ by d are joined if d is below 2 sqrt(v).

    Joining them reduces the squared error by 2 v and adds d^2/2 to it.
    """
    epsilon = 0.5
    least = 2 * np.sqrt(2 / epsilon**2)
    for difference, joined in ((0.99 * least, True), (1.01 * least, False)):
        counts = np.array([10.0, 10.0 + difference])
        estimate = histograms.noise_first(counts, epsilon, WithoutNoise())
        assert (estimate[0] == estimate[1]) == joined


def test_partitions_are_the_best_of_all() -> None:
    values = np.random.default_rng(1).normal(size=7)
    costs, _ = histograms.partitions(values, 3)
    for parts in (1, 2, 3):
        edges = [(0, *cut, 7) for cut in itertools.combinations(range(1, 7), parts - 1)]
        by_hand = min(
            sum(values[a:b].var() * (b - a) for a, b in itertools.pairwise(edge)) for edge in edges
        )
        assert costs[parts, -1] == pytest.approx(by_hand)


def test_structure_first_finds_the_steps_and_spends_half_on_sums() -> None:
    random = WithoutNoise()
    estimate = histograms.structure_first(STEPS, 0.5, random, parts=3, most=50)
    assert np.allclose(estimate, STEPS)
    assert random.asked == [(4.0, 3)]


def test_structure_first_chooses_an_edge_with_the_right_odds() -> None:
    """Of the two cuts of the counts 0, 0, 6, the better one is chosen with the right odds.

    The odds are exp(epsilon/2 * 18/(2 (2 F + 1))), where 18 is the difference of the cuts' squared
    errors and F is the largest count that is assumed.
    """
    counts, draws, epsilon, most = np.array([0.0, 0.0, 6.0]), 2500, 2.0, 6
    chance = 1 / (1 + np.exp(-epsilon / 2 * 18 / (2 * (2 * most + 1))))
    better = 0
    random = WithoutLaplace(5)
    for _ in range(draws):
        estimate = histograms.structure_first(counts, epsilon, random, parts=2, most=most)
        better += int(estimate[2] == 6)
    assert not rare(better, draws, chance)


def test_scores_of_structure_first_change_by_at_most_their_sensitivity() -> None:
    random = np.random.default_rng(2)
    most, largest = 9, 0.0
    for _ in range(300):
        counts = random.integers(0, most + 1, 6).astype(np.float64)
        more = counts.copy()
        more[random.integers(6)] += 1
        one, other = (
            histograms.partitions(np.clip(each, 0, most), 3)[0][1:, 1:] for each in (counts, more)
        )
        finite = np.isfinite(one)
        largest = max(largest, float(np.abs(one[finite] - other[finite]).max()))
    assert most < largest <= 2 * most + 1


def test_clusters_join_what_is_alike_wherever_it_is() -> None:
    counts = np.array([100.0, 0, 101, 0, 0, 50, 100, 51])
    random = WithoutNoise()
    estimate = histograms.clustered(counts, 2.0, random)
    assert np.allclose(estimate, [301 / 3, 0, 301 / 3, 0, 0, 50.5, 301 / 3, 50.5])
    assert random.scales == [1.0, 1.0]


def test_small_noisy_bins_become_empty() -> None:
    least = np.sqrt(np.log(4))
    counts = np.array([0.99 * least, 1.01 * least + 5, 0, 0])
    estimate = histograms.clustered(counts, 2.0, WithoutNoise())
    assert np.allclose(estimate[[0, 2, 3]], counts[[0, 2, 3]].mean())


def test_the_nearest_ascending_vector() -> None:
    """The examples of Hay et al. 2010: the ascending vector nearest to 9, 14, 10 is 9, 12, 12.

    The one nearest to 14, 9, 10, 15 is 11, 11, 11, 15.
    """
    assert histograms.ascending(np.array([9.0, 14, 10])).tolist() == [9, 12, 12]
    assert histograms.ascending(np.array([14.0, 9, 10, 15])).tolist() == [11, 11, 11, 15]


def test_sorting_lowers_the_error_where_counts_tie() -> None:
    truth = np.zeros(200)
    random = np.random.default_rng(3)
    plain = histograms.identity(truth, 1.0, random)
    consistent = histograms.sorted_counts(truth, 1.0, random)
    assert np.mean(consistent**2) < 0.2 * np.mean(plain**2)
    assert (np.diff(consistent) >= 0).all()
