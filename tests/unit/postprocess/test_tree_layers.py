from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from benchmarks.evaluation.ranges import spread
from dpgeo.core.released import TreeRelease
from dpgeo.postprocess.consistency import consistent
from dpgeo.postprocess.layers import EXACT_NOISE, NOMINAL, box_layers
from dpgeo.spatial.grid import Grid
from tests.unit.postprocess.released import BAND, released, small_tree

LEAVES = [1, 3, 4]


def test_the_measured_layer_of_a_tree_is_its_leaves_with_the_noise_of_their_levels() -> None:
    tree = small_tree()

    leaves = box_layers(released(tree))[0]

    assert (leaves.name, leaves.kind, leaves.margin_label) == (
        "partitions",
        "measured",
        EXACT_NOISE,
    )
    assert leaves.value.tolist() == [40, 12, 30]
    assert leaves.value.dtype == np.int64
    assert leaves.cells.tolist() == [3, 2, 4]
    assert leaves.columns["partition"].tolist() == LEAVES
    assert leaves.columns["level"].tolist() == [1, 2, 2]
    second, third = tree.noises[1:]
    assert leaves.margin.tolist() == [second.margin(), third.margin(), third.margin()]
    assert leaves.threshold.tolist() == [second.threshold(), third.threshold(), third.threshold()]


def test_the_inferred_layer_reconciles_all_levels_and_says_that_its_margins_are_nominal() -> None:
    tree = small_tree()
    variance = np.array([tree.noises[level].variance for level in tree.level])
    expected = consistent(tree.counts, variance, tree.parent, tree.level)

    estimate = box_layers(released(tree))[1]

    assert (estimate.name, estimate.kind, estimate.margin_label) == (
        "estimate",
        "inferred",
        NOMINAL,
    )
    np.testing.assert_allclose(estimate.value, expected.value[LEAVES])
    deviation = np.sqrt(expected.variance[LEAVES])
    np.testing.assert_allclose(estimate.margin, deviation * math.log(20) / math.sqrt(2))
    assert (estimate.threshold > estimate.margin).all()
    assert estimate.columns["noisy_count"].tolist() == [40, 12, 30]


def test_without_counts_of_larger_boxes_nothing_is_inferred() -> None:
    tree = small_tree(measured=(False, True, False, True, True))

    (leaves,) = box_layers(released(tree))

    assert leaves.value.tolist() == [40, 12, 30]


def test_only_leaves_that_touch_the_area_are_listed() -> None:
    tree = dataclasses.replace(small_tree(), grid=Grid.over(BAND, 3))

    leaves, estimate = box_layers(released(tree, BAND))

    assert leaves.columns["partition"].tolist() == estimate.columns["partition"].tolist() == [3, 4]
    assert leaves.cells.tolist() == [1, 2]


def test_an_estimate_of_boxes_spreads_evenly_over_their_cells() -> None:
    leaves = box_layers(released(small_tree()))[0]

    assert spread(leaves).tolist() == [[40 / 3] * 3, [6, 7.5, 7.5], [6, 7.5, 7.5]]
    partly = box_layers(released(dataclasses.replace(small_tree(), grid=Grid.over(BAND, 3)), BAND))[
        0
    ]
    with pytest.raises(ValueError, match="partly outside"):
        spread(partly)


def test_the_margins_of_a_fixed_tree_cover_as_often_as_they_say() -> None:
    """The margins of a fixed tree have the stated coverage.

    If the tree does not depend on the noise, the standard errors from least squares are exact.
    """
    tree = small_tree()
    random = np.random.default_rng(4)
    rate = np.array([float(tree.noises[level].rate) for level in tree.level])
    hits = np.zeros(3)
    for _ in range(4000):
        geometric = random.geometric(-np.expm1(-rate), (2, 5))
        noisy = dataclasses.replace(tree, counts=np.asarray(geometric[0] - geometric[1]))
        hits += covers(noisy)
    assert (hits / 4000 > 0.94).all()
    assert (hits / 4000 < 0.98).all()


def covers(tree: TreeRelease) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    estimate = box_layers(released(tree))[1]
    return np.asarray(np.abs(estimate.value) <= estimate.margin)
