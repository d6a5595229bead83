from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import Released, TreeRelease
from dpgeo.mechanisms import adaptive_grid
from dpgeo.postprocess.layers import box_layers
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE, true_counts, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(adaptive_grid.Params, {"cells": 256, **values})
    return run(adaptive_grid.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def tree(released: Released) -> TreeRelease:
    assert isinstance(released.content, TreeRelease)
    return released.content


def test_every_level_counts_the_same_bounded_cells() -> None:
    counted = tree(release(ZeroNoise()))

    assert counted.counts.tolist() == true_counts(counted, view()).tolist()
    assert [counted.counts[counted.level == level].sum() for level in range(3)] == [8000] * 3


def test_numbers_of_squares_and_partitions_follow_the_source_with_the_bound() -> None:
    """The numbers of squares and partitions follow the published formulas, with the bound included.

    By hand: 8,000 people, epsilon 0.97 and bound 2 give 10 squares along each side. 40,000,000
    people and epsilon 1 give 500.
    """
    assert adaptive_grid.squares_along(8000, 0.97 / 2) == 10
    assert adaptive_grid.squares_along(40_000_000, 1.0) == 500
    assert adaptive_grid.squares_along(-5, 1.0) == 10
    counts = np.array([-7, 0, 3, 500, 50_000])
    # At the rate 0.5, a square with n people gets sqrt(n/10) partitions along each side, rounded
    # up: 7.07, so 8, for 500 people, and 70.7, so 71, for 50,000.
    assert adaptive_grid.partitions_along(counts, 0.5).tolist() == [1, 1, 1, 8, 71]


def test_partitions_can_be_reproduced_from_published_counts() -> None:
    """The partitions can be computed from the published counts, so they reveal nothing more."""
    counted = tree(release(SeededEntropy(2)))
    squares = counted.level == 1
    expected = adaptive_grid.partitions_along(
        counted.counts[squares], float(counted.noises[2].rate)
    )
    top, bottom, left, right = counted.boxes[squares].T
    inside = counted.grid.inside(TRIANGLE)

    for square, parts in zip(np.flatnonzero(squares), expected, strict=True):
        boxes = counted.boxes[counted.parent == square]
        assert len(boxes) <= parts**2
        a, b, c, d = counted.boxes[square]
        if inside[a:b, c:d].all() and parts <= min(b - a, d - c):
            assert len(boxes) == parts**2
    assert min(bottom - top) >= 1
    assert min(right - left) >= 1


def test_it_spends_the_declared_shares_and_nothing_else() -> None:
    released = release(SeededEntropy(1), epsilon="0.5", pilot_share=10, square_share=40)

    assert [(line.label, line.epsilon) for line in released.trace] == [
        (adaptive_grid.TOTAL, Fraction("0.05")),
        (adaptive_grid.SQUARES, Fraction("0.18")),
        (adaptive_grid.PARTITIONS, Fraction("0.27")),
    ]
    assert tree(released).noises == tuple(line.noise for line in released.trace)


def test_exact_margins_come_from_the_partitions_own_noise_alone() -> None:
    released = release(SeededEntropy(3))

    partitions, estimate = box_layers(released)

    noise = tree(released).noises[2]
    assert set(partitions.margin) == {noise.margin()}
    assert estimate.margin.max() <= noise.margin() + 1
    assert estimate.value.sum() == pytest.approx(8000, abs=200)
