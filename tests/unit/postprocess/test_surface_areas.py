"""Range answers from an inferred surface, and their intervals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from benchmarks.evaluation.arrays import CountsView, drawn
from benchmarks.evaluation.ranges import random_boxes, range_counts
from benchmarks.generated import generated
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import PhasedRelease, Released
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.postprocess.pyramid import padded
from dpgeo.postprocess.ranges import INFERRED, UNEVEN, Ranges
from dpgeo.postprocess.surface import posterior_tree
from dpgeo.postprocess.surface_areas import SurfaceAreas, read_measurements
from dpgeo.postprocess.tree_areas import noise_variances, unevenness
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy

CELLS = 32


def content_of(released: Released) -> PhasedRelease:
    assert isinstance(released.content, PhasedRelease)
    return released.content


def survey(view: Any, *, key: str = "auto", cells: int = CELLS, seed: int = 3) -> Released:
    mechanism = MECHANISMS[key]
    given = {"inference": "surroundings"} if key == "quadtree" else {}
    params = parse_parameters(mechanism.params, {"cells": cells, **given})
    return run(mechanism, view, params, Fraction(1), SeededEntropy(seed), {})


def crowd() -> CountsView:
    return CountsView(counts=drawn(generated("clusters", CELLS, 2), 5000))


def along_cells(released: Released, boxes: NDArray[np.int64]) -> list[Any]:
    west, south, east, north = content_of(released).grid.box_bounds(boxes).T
    return list(shapely.box(west, south, east, north))


@pytest.mark.parametrize("key", ["auto", "quadtree"])
def test_answers_along_cells_are_the_sums_of_the_surface(key: str) -> None:
    released = survey(crowd(), key=key)
    boxes = random_boxes(CELLS)[:200]
    answers = Ranges(released).answer(along_cells(released, boxes))
    expected = range_counts(content_of(released).surface, boxes)
    assert [each.estimate for each in answers] == pytest.approx(expected, abs=1e-6)


def test_the_variance_is_that_of_the_posterior_given_all_counts() -> None:
    """The variance of an answer equals that of the posterior given all counts.

    The code finds it by recursion over the tree; the test computes the normal posterior from
    matrices.
    """
    released = survey(crowd(), cells=8)
    content = content_of(released)
    measurements = read_measurements(content, released.area)
    leaves = measurements.leaves()
    label = measurements.labels(leaves).ravel() - 1
    tree = posterior_tree(measurements, padded(content.surface))
    variance = np.concatenate(
        [each[chosen] for each, chosen in zip(tree.variance, leaves, strict=True)]
    )
    precision = np.diag(1 / variance)
    for level, known in enumerate(measurements.precision):
        side = 8 >> level
        for row, column in zip(*np.nonzero((known > 0) & ~leaves[level]), strict=True):
            cells = np.zeros((8, 8), dtype=bool)
            cells[row * side : (row + 1) * side, column * side : (column + 1) * side] = True
            sums = np.bincount(label[cells.ravel()], minlength=len(variance)) > 0
            precision += known[row, column] * np.outer(sums, sums)
    covariance = np.linalg.inv(precision)
    boxes = random_boxes(8)[:50]
    areas = SurfaceAreas(content, released.area, fixed=False)
    regions = np.array(along_cells(released, boxes), dtype=object)
    _, touched = areas._tree.touched(regions)
    noise = noise_variances(touched, areas._variance, len(boxes))
    uneven = unevenness(touched, areas._square, len(boxes))
    size = np.bincount(label)
    leaf_counts = np.bincount(label, weights=content.surface.ravel())
    for index, (top, bottom, left, right) in enumerate(boxes):
        cells = np.zeros((8, 8), dtype=bool)
        cells[top:bottom, left:right] = True
        share = np.bincount(label[cells.ravel()], minlength=len(size)) / size
        # Not exactly equal: `share` counts cells, whose ground areas differ slightly within a leaf.
        assert noise[index] == pytest.approx(share @ covariance @ share, rel=1e-3, abs=1e-6)
        expected = (share * (1 - share)) @ np.square(leaf_counts)
        assert uneven[index] == pytest.approx(expected, rel=1e-2, abs=1e-6)


def test_an_interval_says_which_part_is_noise_and_which_is_a_model() -> None:
    released = survey(crowd())
    surface = content_of(released).surface
    row, column = np.unravel_index(np.argmax(surface), surface.shape)
    cell = np.array([[row, row + 1, column, column + 1]], dtype=np.int64)
    west, south, east, north = content_of(released).grid.box_bounds(cell)[0]
    half = shapely.box(west, south, (west + east) / 2, north)
    whole, cut = Ranges(released).answer([released.area.shape, half])
    assert (whole.model, whole.cut, whole.notes) == (0.0, 0, (INFERRED,))
    assert whole.noise == pytest.approx(whole.margin)
    assert cut.model is not None
    assert cut.model > 0
    assert (cut.areas, cut.cut, cut.notes) == (1, 1, (INFERRED, UNEVEN))
    assert cut.estimate == pytest.approx(surface[row, column] / 2)
    assert cut.margin == pytest.approx(np.hypot(cut.noise, cut.model))
    assert not whole.exact


def test_most_intervals_hold_and_they_are_narrower_than_those_of_the_measured_counts() -> None:
    view = crowd()
    boxes = random_boxes(CELLS)[:400]
    truth = range_counts(view.counts, boxes)
    hits, margins, plain = [], [], []
    for seed in range(4):
        released = survey(view, seed=seed)
        regions = along_cells(released, boxes)
        answers = Ranges(released).answer(regions)
        error = np.abs(np.array([each.estimate for each in answers]) - truth)
        margin = np.array([each.margin for each in answers])
        hits.append(np.mean(error <= margin))
        margins.append(margin.mean())
        measured = Ranges(released, layer="partitions").answer(regions)
        plain.append(np.mean([each.margin for each in measured]))
    assert 0.88 <= np.mean(hits) <= 1
    assert np.mean(margins) < np.mean(plain)
