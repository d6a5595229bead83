"""Private quadtree: its noise, exact odds, and the effect of one privacy unit on them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.errors import PrivacyError
from dpgeo.core.spend import Measured, Spend
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.private_quadtree import bias, grow, split_noise
from tests.randomness import CountingEntropy, SeededEntropy, ZeroNoise

PLAN = [Spend(label="splits", epsilon=Fraction(1)), Spend(label="other", epsilon=Fraction(1))]
EVERYWHERE = np.ones((4, 4), dtype=np.bool_)


def log_odds(biased: int, rate: float) -> tuple[float, float]:
    """Return the log-probabilities that a box is split and that it is not split.

    `biased` is the box's count minus a bias for each level above it, or minus one bias if that is
    more.
    """
    tail = math.exp(-rate * abs(biased)) / (1 + math.exp(-rate))
    if biased >= 1:
        return math.log1p(-tail), math.log(tail)
    tail *= math.exp(-rate)
    return math.log(tail), math.log1p(-tail)


def log_chances(cells: NDArray[np.int64], rate: float, delta: int) -> NDArray[np.float64]:
    """Return the log-probabilities of all 17 trees over 4 x 4 cells.

    These are the undivided square and, for each subset of its quarters, the square with those
    quarters divided.
    """
    cut, left = log_odds(max(-delta, int(cells.sum())), rate)
    quarters = cells.reshape(2, 2, 2, 2).sum(axis=(1, 3)).ravel()
    parts = [log_odds(max(-delta, int(count) - delta), rate) for count in quarters]
    chosen = itertools.product([0, 1], repeat=4)
    grown = [cut + sum(part[i] for part, i in zip(parts, c, strict=True)) for c in chosen]
    return np.array([left, *grown])


@pytest.mark.parametrize("bound", [1, 3, 10])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_log_odds_of_every_tree_change_by_at_most_epsilon(epsilon: Fraction, bound: int) -> None:
    """One added person changes the log-odds of every tree by at most epsilon.

    The odds are exact. The person's records are either in one cell or spread over several.
    """
    random = np.random.default_rng(1)
    noise = split_noise(epsilon, bound)
    rate, delta = float(noise.rate), bias(noise)
    worst = 0.0
    for trial in range(300):
        crowd = random.integers(0, 1 + int(random.choice([1, delta, 3 * delta])), (4, 4))
        person = np.zeros(16, dtype=np.int64)
        where = random.integers(0, 16, 1 if trial % 2 else bound)
        np.add.at(person, where, bound // where.size)
        before = log_chances(crowd, rate, delta)
        after = log_chances(crowd + person.reshape(4, 4), rate, delta)
        assert np.logaddexp.reduce(before) == pytest.approx(0, abs=1e-9)
        worst = max(worst, float(np.abs(after - before).max()))
    assert worst <= float(epsilon) + 1e-9
    assert worst > 0.3 * float(epsilon)


def test_without_the_bound_the_loss_would_be_far_above_epsilon() -> None:
    noise = split_noise(Fraction(1), 1)
    rate, delta = float(noise.rate), bias(noise)
    crowd, person = np.zeros((4, 4), dtype=np.int64), np.zeros((4, 4), dtype=np.int64)
    person[0, 0] = 10

    gap = log_chances(crowd + person, rate, delta) - log_chances(crowd, rate, delta)

    assert np.abs(gap).max() > 4


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 3), Fraction(2), Fraction(30)])
def test_the_worst_path_costs_at_most_what_the_proof_says(epsilon: Fraction) -> None:
    """One person changes the log-odds of all splits on a path by at most epsilon in total.

    The test looks for the counts along the path at which the splits reveal most.
    """
    noise = split_noise(epsilon, 1)
    rate, delta = float(noise.rate), bias(noise)

    def cost(unbiased: int) -> float:
        before, after = max(-delta, unbiased), max(-delta, unbiased + 1)
        return log_odds(after, rate)[0] - log_odds(before, rate)[0]

    worst = max(
        sum(cost(lowest + step * delta) for step in range(40)) for lowest in range(-delta - 3, 4)
    )
    assert worst <= float(epsilon) * (1 + 1e-12)
    assert worst > 0.55 * float(epsilon)


def test_the_bias_is_the_least_whole_number_that_the_proof_needs() -> None:
    for epsilon, bound in [(Fraction(1), 1), (Fraction(1, 7), 10), (Fraction(1000), 1)]:
        noise = split_noise(epsilon, bound)
        scale = 7 * bound / (3 * float(epsilon))
        assert float(1 / noise.rate) == pytest.approx(scale)
        assert bias(noise) - 1 < scale * math.log(4) <= bias(noise)


def test_the_root_is_cut_as_often_as_its_odds_say() -> None:
    counts = PrivateCounts(np.array([[3, 0], [0, 1]]), sensitivity=2)
    noise = split_noise(Fraction(1), 2)
    chance = math.exp(log_odds(4, float(noise.rate))[0])
    entropy = SeededEntropy(3)
    inside = np.ones((2, 2), dtype=np.bool_)
    cuts = sum(
        len(Meter(PLAN, entropy).grow_tree("splits", counts, inside).boxes) == 5
        for _ in range(5000)
    )
    assert abs(cuts / 5000 - chance) < 5 * (chance * (1 - chance) / 5000) ** 0.5


def test_without_noise_boxes_are_cut_where_counts_outweigh_the_bias() -> None:
    cells = np.zeros((8, 8), dtype=np.int64)
    cells[5, 6] = 100
    tree = grow(cells, np.ones((8, 8), dtype=np.bool_), 30, lambda biased: biased > 0)

    assert np.bincount(tree.level).tolist() == [1, 4, 4, 4]
    assert tree.boxes[tree.level == 3].tolist() == [
        [4, 5, 6, 7],
        [4, 5, 7, 8],
        [5, 6, 6, 7],
        [5, 6, 7, 8],
    ]
    assert tree.leaf.sum() == 10


def test_boxes_with_one_inside_cell_are_never_split_and_outside_ones_dropped() -> None:
    inside = np.zeros((4, 4), dtype=np.bool_)
    inside[0, 0] = inside[3, 3] = inside[3, 2] = True
    cells = np.full((4, 4), 10**6)

    tree = grow(cells, inside, 1, lambda biased: np.ones(biased.size, dtype=np.bool_))

    assert tree.boxes.tolist() == [
        [0, 4, 0, 4],
        [0, 2, 0, 2],
        [2, 4, 2, 4],
        [3, 4, 2, 3],
        [3, 4, 3, 4],
    ]
    assert tree.parent.tolist() == [-1, 0, 0, 2, 2]


def test_splits_are_charged_once_and_carry_no_published_noise() -> None:
    meter = Meter(PLAN, ZeroNoise())
    counts = PrivateCounts(np.zeros((4, 4), dtype=np.int64), sensitivity=1)
    meter.grow_tree("splits", counts, EVERYWHERE)

    with pytest.raises(PrivacyError, match="already spent"):
        meter.grow_tree("splits", counts, EVERYWHERE)
    assert meter.finish()[0] == Measured(
        label="splits", epsilon=Fraction(1), noise=None, splits=True
    )


def test_unsuitable_counts_for_a_tree_are_refused_before_any_draw() -> None:
    entropy = CountingEntropy()
    meter = Meter(PLAN, entropy)
    counts = PrivateCounts(np.zeros((3, 4), dtype=np.int64), sensitivity=1)

    for wrong in (counts, np.zeros((4, 4), dtype=np.int64)):
        with pytest.raises(PrivacyError, match="private counts of the mask's shape"):
            meter.grow_tree("splits", wrong, EVERYWHERE)  # type: ignore[arg-type]
    assert entropy.opened == 0
    assert [line.splits for line in meter.finish()] == [False, False]
