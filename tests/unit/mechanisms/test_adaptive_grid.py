from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import DiscreteLaplace
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


def test_crowded_squares_are_divided_finely_and_quiet_ones_stay_whole() -> None:
    counted = tree(release(SeededEntropy(1)))
    parts = np.bincount(counted.parent[counted.level == 2], minlength=len(counted.level))
    squares = np.flatnonzero(counted.level == 1)

    assert len(squares) < 100  # corners of the frame lie outside the triangle
    assert parts[squares].min() == 1
    assert parts[squares].max() > 50


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


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
def test_the_smallest_grids_are_accepted(cells: int) -> None:
    counted = tree(release(ZeroNoise(), cells=cells))

    assert counted.counts[0] == counted.counts[counted.level == 2].sum() > 0


def test_an_empty_dataset_gives_few_partitions_within_their_margins() -> None:
    partitions, estimate = box_layers(release(SeededEntropy(5), people=0))

    assert len(partitions.boxes) < 200
    assert np.mean(np.abs(partitions.value) <= partitions.margin) > 0.85
    assert np.isfinite(estimate.value).all()


def test_the_forecast_is_for_the_noise_of_partitions() -> None:
    params = adaptive_grid.Params(cells=64, pilot_share=10, square_share=50)

    forecast = adaptive_grid.forecast(params, Fraction(1), 5, Domain(TRIANGLE))

    assert forecast.noise == DiscreteLaplace(Fraction(9, 20), 5)


def test_too_fine_a_grid_says_which_mechanism_to_use() -> None:
    with pytest.raises(InvalidInput, match="sparse-grid") as caught:
        parse_parameters(adaptive_grid.Params, {"cells": 4097})
    assert caught.value.field == "cells"
