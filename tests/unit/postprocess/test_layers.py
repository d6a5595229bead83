from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import GridRelease
from dpgeo.postprocess.layers import (
    CALIBRATED,
    EXACT_NOISE,
    BoxLayer,
    box_layers,
    quantisation_step,
)
from dpgeo.postprocess.layers.layer import unit_boxes
from dpgeo.postprocess.layers.slices import stacked
from dpgeo.spatial.grid import Grid
from tests.unit.postprocess.released import SQUARE, released, worked_example


def test_partitions_keep_the_fresh_integer_totals_and_their_exact_noise() -> None:
    content = worked_example("least-squares")

    partitions = box_layers(released(content))[0]

    assert (partitions.name, partitions.kind) == ("partitions", "measured")
    assert partitions.value.tolist() == [31, 37, 73, 0]
    assert partitions.value.dtype == np.int64
    assert partitions.cells.tolist() == [2, 1, 2, 4]
    assert partitions.margin_label == EXACT_NOISE
    assert partitions.margin.tolist() == [content.totals_noise.margin()] * 4
    assert partitions.threshold.tolist() == [content.totals_noise.threshold()] * 4


def test_uniform_answers_spread_a_total_evenly_over_its_cells() -> None:
    content = worked_example("uniform")

    estimate = box_layers(released(content))[1]

    assert estimate.value.tolist() == [15.5, 15.5, 37, 36.5, 0, 0, 36.5, 0, 0]
    assert estimate.margin_label == CALIBRATED
    assert "unevenly" in estimate.note


def test_margins_of_even_shares_allow_for_uneven_spread_but_not_beyond_the_whole_count() -> None:
    spread = dataclasses.replace(worked_example("uniform"), totals=np.array([3000, 37, 73, -200]))
    noise = spread.totals_noise.margin()
    margin = box_layers(released(spread))[1].margin

    assert margin is not None
    # The partition has two cells, so a cell's share of its 3,000 people is 1,500. With both in
    # units of the noise scale, the margin of a share grows with the square root of the share.
    scale = spread.totals_noise.scale
    assert margin[0] == pytest.approx(8 * np.sqrt(1500 * scale) + 0.1 * scale, rel=0.1)
    # A partition of two cells with the noisy count 73: all its people, at most 73 plus the noise's
    # margin, may be in either cell.
    assert margin[3] <= 1.1 * (73 + noise)
    assert margin[3] > 36.5
    # A cell that is a partition by itself has the margin of the partition's noise. The last
    # partition has four cells and a negative total. The margin of each cell is at least a quarter
    # of the margin of the partition's noise.
    assert margin[2] == pytest.approx(noise, rel=0.1)
    assert margin[4] >= noise / 4


def test_least_squares_solves_the_weighted_normal_equations() -> None:
    content = dataclasses.replace(
        worked_example("least-squares"),
        counts=np.array([[12, 17, 30], [25, -4, 3], [50, 1, -6]]),
        totals=np.array([35, 36, 70, 4]),
    )
    membership = np.zeros((4, 9))
    for number, cells in enumerate(([0, 1], [2], [3, 6], [4, 5, 7, 8])):
        membership[number, cells] = 1
    design = np.vstack([np.eye(9), membership])
    observed = np.concatenate([content.counts.ravel(), content.totals])
    weights = np.repeat([1 / content.noise.variance, 1 / content.totals_noise.variance], [9, 4])
    information = design.T @ (weights[:, None] * design)
    expected = np.linalg.solve(information, design.T @ (weights * observed))

    estimate = box_layers(released(content))[1]

    np.testing.assert_allclose(estimate.value, expected)
    deviations = np.sqrt(np.diag(np.linalg.inv(information)))
    per_deviation = content.noise.margin() / content.noise.variance**0.5
    np.testing.assert_allclose(estimate.margin, per_deviation * deviations)


def test_estimates_are_finite_where_totals_have_hardly_any_noise() -> None:
    content = dataclasses.replace(
        worked_example("least-squares"), totals_noise=DiscreteLaplace(Fraction(1000), 1)
    )

    projected = box_layers(released(content))[1].columns["non_negative"]

    assert projected.sum() == pytest.approx(141)
    assert np.isfinite(projected).all()


def test_a_picture_may_round_to_a_quarter_of_the_noise_and_never_leaves_32_bits() -> None:
    grid = Grid.over(SQUARE, 3)
    counts = np.zeros((3, 3), dtype=np.int64)

    def step(epsilon: Fraction, largest: int) -> float:
        counts[1, 1] = largest
        content = GridRelease(grid=grid, counts=counts, noise=DiscreteLaplace(epsilon, 1))
        return quantisation_step(box_layers(released(content))[0])

    assert step(Fraction(10), 5) == 1
    assert 20 <= step(Fraction(1, 100), 5) <= 25
    assert 2**40 / step(Fraction(10), 2**40) < 2**31
    assert quantisation_step(box_layers(released(worked_example("uniform")))[1]) < 1


def test_slices_with_different_numbers_of_boxes_are_listed_together() -> None:
    """The largest boxes of all slices are named by their slice, however many each has."""
    grid = Grid.over(SQUARE, 2)
    boxes = [unit_boxes(np.array([0]), np.array([0])), unit_boxes(*np.divmod(np.arange(4), 2))]
    layers_of_slices = [
        BoxLayer(
            name=f"partitions-{number}",
            title=title,
            kind="measured",
            margin_label=EXACT_NOISE,
            note="",
            grid=grid,
            boxes=each,
            cells=np.ones(len(each), dtype=np.int64),
            value=np.full(len(each), 50 + number),
            margin=np.ones(len(each)),
            threshold=np.ones(len(each)),
        )
        for number, (title, each) in enumerate(zip(("day", "night"), boxes, strict=True))
    ]
    names = stacked(layers_of_slices).columns["name"].tolist()
    assert names == ["day", *["night"] * 4]
