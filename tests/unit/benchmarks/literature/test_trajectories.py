"""Models of trips after DPT and AdaTrace, on trips that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.literature import trajectories
from benchmarks.literature.comparisons.trips import jensen_shannon
from benchmarks.literature.trajectories import STOP, neighbouring, tokens_of
from tests.unit.benchmarks.literature.noise import WithoutLaplace

EAST = [np.array([0, 1, 2, 3]), np.array([12, 13, 14, 15])] * 20
"""Trips from west to east in the first and the last row of a grid of 4 x 4 cells."""


@pytest.mark.parametrize("make", [trajectories.walk_and_jump, trajectories.prefix_trees])
def test_without_noise_the_trips_come_back(make: object) -> None:
    made = make(EAST, 4, 1e9, WithoutLaplace(), most=40, number=200)  # type: ignore[operator]
    assert {tuple(way.tolist()) for way in made} == {(0, 1, 2, 3), (12, 13, 14, 15)}


def test_the_walk_pays_half_for_moves_and_half_for_ends() -> None:
    random = WithoutLaplace()
    trajectories.walk_and_jump(EAST, 4, 0.5, random, most=40, number=1)
    assert random.scales == [4.0, 4.0]


def test_prefix_trees_pay_for_the_length_of_trips() -> None:
    """Prefix trees pay for the length of trips.

    In a tree, a trip of at most `most` moves adds 1 to the table of starts and up to `most` + 1 to
    each of two other tables. Each table gets a third of epsilon. There is a tree for each of three
    cell sizes; a trip may be in any one of them, so all get noise of the same three scales.
    """
    random = WithoutLaplace()
    trajectories.prefix_trees(EAST, 4, 0.5, random, most=9, number=1)
    assert random.scales == [6.0, 60.0, 60.0] * 3
    for scale, sensitivity in zip(random.scales[:3], (1, 10, 10), strict=True):
        assert sensitivity / scale == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("length", [1, 5, 39, 60])
def test_a_trip_adds_to_a_tree_at_most_what_its_noise_allows(length: int) -> None:
    way = np.arange(length + 1) % 2  # a trip there and back between two cells
    tree = trajectories._tree([way], 4, 39)
    assert tree.first.sum() == 1
    assert tree.second.sum() == min(length + 1, 40)
    assert tree.third.sum() == min(length, 39)


def test_tokens_say_the_direction_and_the_end() -> None:
    ways = [
        np.array([5, 0]),
        np.array([5, 1]),
        np.array([5, 4]),
        np.array([5, 6]),
        np.array([5, 10]),
    ]
    assert [tokens_of(way, 4).tolist() for way in ways] == [
        [1, STOP], [2, STOP], [4, STOP], [5, STOP], [8, STOP]
    ]  # fmt: skip
    for way in ways:
        assert trajectories._moved(5, int(tokens_of(way, 4)[0]), 4) == way[1]


def test_a_long_straight_trip_is_told_in_the_coarsest_grid() -> None:
    assert trajectories._system(np.arange(16), 16, [1, 2, 4]) == 4
    assert trajectories._system(np.array([0, 1]), 16, [1, 2, 4]) == 1
    fine = trajectories._fine(np.array([0, 1, 2]), 8, 2)
    assert fine.tolist() == [9, 10, 11, 12, 13]


def test_cells_that_touch_are_neighbours() -> None:
    near = neighbouring(3)
    assert np.flatnonzero(near[4]).tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert np.flatnonzero(near[0]).tolist() == [1, 3, 4]


def test_the_divergence_is_nothing_of_the_same_and_ln_2_of_disjoint_weights() -> None:
    assert jensen_shannon(np.array([1.0, 3]), np.array([2.0, 6])) == pytest.approx(0)
    assert jensen_shannon(np.array([1.0, 0]), np.array([0.0, 5])) == pytest.approx(np.log(2))
