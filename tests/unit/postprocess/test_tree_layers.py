from __future__ import annotations

import dataclasses
import math

import numpy as np

from dpgeo.core.released import TreeRelease
from dpgeo.postprocess.consistency import consistent
from dpgeo.postprocess.layers import EXACT_NOISE, NOMINAL, box_layers
from tests.unit.postprocess.released import released, small_tree

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
