from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import PhasedRelease, Released, TreeRelease
from dpgeo.mechanisms import quadtree
from dpgeo.postprocess.layers import box_layers
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE, true_counts, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(quadtree.Params, {"cells": 32, **values})
    return run(quadtree.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def tree(released: Released) -> TreeRelease:
    assert isinstance(released.content, TreeRelease)
    return released.content


@pytest.mark.parametrize("cells", [1, 2, 5, 32, 33])
def test_every_level_counts_all_of_the_same_bounded_cells(cells: int) -> None:
    counted = tree(release(ZeroNoise(), cells=cells))

    assert counted.counts.tolist() == true_counts(counted, view()).tolist()
    totals = np.bincount(counted.level, weights=counted.counts)
    assert len(totals) == (cells - 1).bit_length() + 1
    assert set(totals.tolist()) == {counted.counts[0]}


@pytest.mark.parametrize("cells", [32, 33])
def test_smallest_squares_are_cells_and_children_lie_in_their_parents(cells: int) -> None:
    counted = tree(release(SeededEntropy(1), cells=cells))
    smallest = counted.boxes[counted.level == counted.level.max()]
    top, bottom, left, right = counted.boxes[1:].T
    a, b, c, d = counted.boxes[counted.parent[1:]].T

    assert set((smallest[:, 1::2] - smallest[:, ::2]).ravel().tolist()) == {1}
    assert len(smallest) == counted.grid.inside(TRIANGLE).sum()
    assert ((a <= top) & (bottom <= b) & (c <= left) & (right <= d)).all()
    assert (counted.level[1:] == counted.level[counted.parent[1:]] + 1).all()


def test_smaller_squares_get_more_of_epsilon_unless_all_are_alike() -> None:
    spends = quadtree.plan(quadtree.Params(cells=64), Fraction(1, 3))
    shares = np.array([float(spend.epsilon) for spend in spends])
    alike = quadtree.plan(quadtree.Params(cells=64, allocation="equal"), Fraction(1, 3))

    assert sum(spend.epsilon for spend in spends) == Fraction(1, 3)
    np.testing.assert_allclose(shares[1:] / shares[:-1], 2 ** (1 / 2), rtol=1e-3)
    assert {spend.epsilon for spend in alike} == {Fraction(1, 21)}


def test_every_level_carries_the_noise_of_its_share() -> None:
    released = release(SeededEntropy(2), epsilon="0.5")

    assert tree(released).noises == tuple(line.noise for line in released.trace)
    assert tree(released).noises[0].epsilon == released.trace[0].epsilon


def test_consistent_counts_have_smaller_errors_than_the_measured_ones() -> None:
    raw, reconciled = 0.0, 0.0
    for seed in range(5):
        released = release(SeededEntropy(seed), epsilon="0.1")
        exact = box_layers(release(ZeroNoise()))[0].value
        leaves, estimate = box_layers(released)
        raw += float(np.square(leaves.value - exact).sum())
        reconciled += float(np.square(estimate.value - exact).sum())

    assert reconciled < 0.9 * raw


def test_margins_of_estimates_cover_as_the_tree_is_public() -> None:
    exact = box_layers(release(ZeroNoise()))[0].value
    hits = []
    for seed in range(20):
        estimate = box_layers(release(SeededEntropy(seed), epsilon="0.2"))[1]
        hits.append(np.mean(np.abs(estimate.value - exact) <= estimate.margin))

    assert 0.945 < np.mean(hits) < 0.97


def test_an_empty_dataset_seldom_exceeds_the_thresholds() -> None:
    leaves, estimate = box_layers(release(SeededEntropy(3), people=0))

    assert np.mean(leaves.value >= leaves.threshold) < 0.01
    assert np.mean(estimate.value >= estimate.threshold) < 0.01


def test_the_forecast_is_of_the_smallest_squares_noise() -> None:
    params = quadtree.Params(cells=2, allocation="equal")

    forecast = quadtree.forecast(params, Fraction(1), 5, Domain(TRIANGLE))

    assert forecast.noise == DiscreteLaplace(Fraction(1, 2), 5)


def test_too_fine_a_grid_says_which_mechanism_to_use() -> None:
    with pytest.raises(InvalidInput, match="privtree, or sparse-grid"):
        parse_parameters(quadtree.Params, {"cells": 2049})


@pytest.mark.parametrize("cells", [1, 5, 32])
def test_estimates_by_neighbours_use_the_counts_of_every_level(cells: int) -> None:
    released = release(ZeroNoise(), cells=cells, inference="surroundings")
    result = released.content

    assert isinstance(result, PhasedRelease)
    assert [line.epsilon for line in released.trace] == [
        spend.epsilon for spend in quadtree.plan(quadtree.Params(cells=cells), Fraction(1))
    ]
    assert len(result.noises) == (cells - 1).bit_length() + 1
    totals = np.bincount(result.phase, weights=result.counts)
    assert set(totals.tolist()) == {result.counts[0]}


def test_neighbours_reduce_the_error_where_people_are_few() -> None:
    errors = {}
    for inference in ("least-squares", "surroundings"):
        released = release(SeededEntropy(4), epsilon="0.1", inference=inference)
        estimate = box_layers(released)[-1]
        cells = view(4000).histogram(estimate.grid)._read_by_meter()
        truth = cells[estimate.boxes[:, 0], estimate.boxes[:, 2]]
        errors[inference] = float(np.abs(estimate.value - truth).mean())

    assert errors["surroundings"] < errors["least-squares"] / 2
