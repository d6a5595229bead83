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
from dpgeo.mechanisms import privtree
from dpgeo.postprocess.layers import box_layers
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE, true_counts, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(privtree.Params, {"cells": 256, **values})
    return run(privtree.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def tree(released: Released) -> TreeRelease:
    assert isinstance(released.content, TreeRelease)
    return released.content


def test_leaves_count_the_same_bounded_cells_and_no_inner_count_is_published() -> None:
    counted = tree(release(SeededEntropy(1)))
    exact = tree(release(ZeroNoise()))

    assert (counted.counts[~counted.measured] == 0).all()
    assert (
        exact.counts[exact.measured].tolist() == true_counts(exact, view())[exact.measured].tolist()
    )
    assert exact.counts.sum() == 8000


def test_crowded_boxes_are_split_and_empty_ones_stay_whole() -> None:
    counted = tree(release(SeededEntropy(2)))
    leaves = counted.boxes[counted.measured]
    sizes = (leaves[:, 1] - leaves[:, 0]) * (leaves[:, 3] - leaves[:, 2])

    assert sizes.min() <= 16
    assert sizes.max() >= 64**2
    assert 50 < len(leaves) < 3000


def test_leaf_counts_have_fresh_noise_of_the_remaining_epsilon() -> None:
    released = release(SeededEntropy(3), epsilon="0.6", split_share=50)
    counted = tree(released)

    splits, counts = released.trace
    assert (splits.epsilon, splits.noise, splits.splits) == (Fraction("0.3"), None, True)
    assert counts.noise == DiscreteLaplace(Fraction("0.3"), 2)
    assert set(counted.noises) == {counts.noise}
    error = (counted.counts - true_counts(counted, view()))[counted.measured]
    assert 0.5 < error.var() / counted.noises[0].variance < 1.8


def test_every_leaf_is_a_measured_partition_and_nothing_is_inferred() -> None:
    released = release(SeededEntropy(4))

    (partitions,) = box_layers(released)

    assert partitions.cells.sum() == tree(released).grid.inside(TRIANGLE).sum()
    assert set(partitions.margin) == {tree(released).noises[0].margin()}


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
def test_the_smallest_grids_are_accepted(cells: int) -> None:
    assert tree(release(ZeroNoise(), cells=cells)).counts.sum() > 0


def test_an_empty_dataset_stays_in_few_boxes() -> None:
    sizes = [len(tree(release(SeededEntropy(seed), people=0)).boxes) for seed in range(20)]

    assert np.mean(sizes) < 10


def test_the_forecast_is_for_the_noise_of_leaves() -> None:
    params = privtree.Params(cells=64, split_share=20)

    forecast = privtree.forecast(params, Fraction(1), 5, Domain(TRIANGLE))

    assert forecast.noise == DiscreteLaplace(Fraction(4, 5), 5)


def test_too_fine_a_grid_says_which_mechanism_to_use() -> None:
    with pytest.raises(InvalidInput, match="sparse-grid"):
        parse_parameters(privtree.Params, {"cells": 4097})
