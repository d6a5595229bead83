from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.guarantees import PureDP, Unit
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import PartitionRelease, Released
from dpgeo.mechanisms import dpcube
from dpgeo.postprocess.kdtree import Rule, grow_kdtree
from dpgeo.postprocess.layers import box_layers
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.boxes import box_image
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(dpcube.Params, {"cells": 64, **values})
    return run(dpcube.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def content(released: Released) -> PartitionRelease:
    assert isinstance(released.content, PartitionRelease)
    return released.content


@pytest.mark.parametrize("splitting", ["suspicion", "variance"])
def test_partition_totals_are_sums_of_the_same_bounded_cells(splitting: str) -> None:
    result = content(release(ZeroNoise(), splitting=splitting))

    image = box_image(result.boxes, result.grid.shape)
    sums = np.bincount(image.ravel(), weights=result.counts.ravel(), minlength=len(result.boxes))

    assert len(result.boxes) > 10
    assert result.totals.tolist() == sums.tolist()
    # There are 4,000 people, and each counts in one or two cells.
    assert 4000 < result.totals.sum() <= 8000


def test_it_spends_the_declared_shares_and_nothing_else() -> None:
    released = release(SeededEntropy(1), epsilon="0.7", cell_share=25)

    assert [(line.label, line.epsilon) for line in released.trace] == [
        (dpcube.CELLS, Fraction("0.175")),
        (dpcube.PARTITIONS, Fraction("0.525")),
    ]
    assert released.guarantee == PureDP(Fraction("0.7"), Unit.PERSON)
    assert content(released).noise == DiscreteLaplace(Fraction("0.175"), 2)
    assert content(released).totals_noise == DiscreteLaplace(Fraction("0.525"), 2)


def test_totals_carry_fresh_noise_of_the_declared_scale() -> None:
    """The totals have fresh noise of the declared scale.

    The difference between a total and the exact sum is independent noise, not the sum of the noise
    of the cells.
    """
    exact = content(release(ZeroNoise()))
    deviations = []
    for seed in range(40):
        noisy = content(release(SeededEntropy(seed), splitting="variance"))
        image = box_image(noisy.boxes, noisy.grid.shape)
        truth = np.bincount(image.ravel(), weights=exact.counts.ravel(), minlength=len(noisy.boxes))
        deviations.append(noisy.totals - truth)
    every = np.concatenate(deviations)
    noise = DiscreteLaplace(Fraction("0.7"), 2)

    assert every.size > 500
    assert abs(every.mean()) < 6 * (noise.variance / every.size) ** 0.5
    assert 0.7 < every.var() / noise.variance < 1.4
    assert np.mean(np.abs(every) <= noise.margin()) >= 0.92


def test_kd_tree_partitions_can_be_reproduced_from_published_counts() -> None:
    """The kd-tree partitions follow from the published noisy cells, so they reveal nothing more."""
    result = content(release(SeededEntropy(3)))
    rule = Rule(cell_variance=result.noise.variance, total_variance=result.totals_noise.variance)

    again = grow_kdtree(result.counts, result.grid.inside(TRIANGLE), rule)

    np.testing.assert_array_equal(again, result.boxes)


@pytest.mark.parametrize("answers", ["uniform", "least-squares"])
def test_thresholds_and_margins_hold_on_an_empty_map(answers: str) -> None:
    """Thresholds and margins hold on an empty map, where simple formulas are furthest off.

    The partitions of an empty map depend on noise alone.
    """
    reached, covered, cells = 0, 0, 0
    for seed in range(4):
        released = release(SeededEntropy(seed), people=0, cells=128, answers=answers)
        estimate = box_layers(released)[1]
        reached += int(np.count_nonzero(estimate.value >= estimate.threshold))
        covered += int(np.count_nonzero(np.abs(estimate.value) <= estimate.margin))
        cells += estimate.value.size

    assert cells > 25_000
    assert reached <= 0.001 * cells
    assert covered >= 0.94 * cells
