"""The opening view of a map: its layer, unit and classes depend only on released values."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, layers
from dpgeo.postprocess.layers.layer import unit_boxes
from dpgeo.postprocess.opening import (
    FULLEST,
    SAMPLED,
    STEPS,
    cells_per_square,
    class_edges,
    layer_edges,
    map_metres,
    opening_layer,
    opening_of,
    per_square,
    standing,
)
from dpgeo.spatial.grid import Grid
from tests.unit.artefacts.releases import contour_release, examples, points_release, slices_release

GRID = Grid(west=0.0, north=0.0, cell=100.0, columns=64, rows=64)
"""A grid on the equator, so its cells are about 100 m wide on the ground."""


def cells_of(
    value: NDArray[np.float64], *, threshold: float = 10.0, name: str = "estimate"
) -> BoxLayer:
    """Return a layer of single cells."""
    row, column = np.divmod(np.arange(value.size), GRID.columns)
    size = value.size
    return BoxLayer(
        name=name,
        title="",
        kind="inferred",
        margin_label="",
        note="",
        grid=GRID,
        boxes=unit_boxes(row, column),
        cells=np.ones(size, dtype=np.int64),
        value=value,
        margin=np.full(size, 5.0),
        threshold=np.full(size, threshold),
        columns={"row": row, "column": column},
    )


def boxes_of(sides: list[int], value: list[int], *, threshold: float = 10.0) -> BoxLayer:
    """Return a measured layer of squares in a row; `sides` are their side lengths in cells."""
    left = np.concatenate([[0], np.cumsum(sides)[:-1]])
    side = np.array(sides)
    boxes = np.column_stack([0 * side, side, left, left + side]).astype(np.int32)
    size = len(sides)
    return BoxLayer(
        name="partitions",
        title="",
        kind="measured",
        margin_label="",
        note="",
        grid=GRID,
        boxes=boxes,
        cells=(side**2).astype(np.int64),
        value=np.array(value, dtype=np.int64),
        margin=np.full(size, 5.0),
        threshold=np.full(size, threshold),
    )


def surface(clear: float) -> BoxLayer:
    """Return a surface of 1,000 people, of whom the share `clear` is in cells above threshold."""
    value = np.zeros(1000)
    value[:20] = 1000 * clear / 20
    value[20:] = 1000 * (1 - clear) / 980
    return cells_of(value)


def test_a_map_opens_on_the_finest_layer_that_shows_enough_of_the_total() -> None:
    boxes = boxes_of([8, 8], [600, 400])
    assert opening_layer([boxes, surface(0.61)]).name == "estimate"
    assert opening_layer([boxes, surface(0.59)]).name == "partitions"


def test_where_no_layer_shows_enough_a_map_opens_on_the_one_that_shows_most() -> None:
    hardly = boxes_of([8, 8, 8], [100, 8, 892], threshold=900)
    assert opening_layer([hardly, surface(0.4)]).name == "estimate"
    assert opening_layer([hardly, surface(0.0)]).name == "partitions"


def test_layers_equally_fine_open_as_counted() -> None:
    boxes = boxes_of([1, 1], [600, 400])
    assert opening_layer([boxes, dataclasses.replace(boxes, name="estimate")]).name == "partitions"


def test_a_map_by_time_opens_on_its_fullest_slice() -> None:
    shown = [layer for layer in layers(slices_release()) if isinstance(layer, BoxLayer)]
    fullest = max(shown, key=lambda layer: layer.value.sum())
    assert opening_of(shown).layer == fullest.name
    assert opening_of(shown[::-1]).layer == fullest.name


def test_contours_open_on_bands_and_points_on_areas() -> None:
    assert opening_of(layers(contour_release())).layer == "bands"
    moved = layers(points_release())
    opens = opening_of(moved)
    assert (opens.layer, opens.dots) == ("density", "points")
    assert opens.shift == pytest.approx(points_release().content.noise.radius(0.5))  # type: ignore[attr-defined]


def test_the_unit_is_the_smallest_box_rounded_up() -> None:
    """The map's unit is the side of the smallest box, rounded up to a round number.

    Cells are 100 m wide. If the smallest box is 300 m wide, the unit is a square of 500 m.
    """
    assert map_metres([boxes_of([3, 8, 8], [20, 50, 60])]) == 500
    assert map_metres([boxes_of([1, 8, 8], [20, 500, 600])]) == 100
    close = dataclasses.replace(GRID, cell=0.97 * GRID.cell)
    assert map_metres([dataclasses.replace(boxes_of([1], [20]), grid=close)]) == 100


def test_the_unit_grows_until_the_legend_has_no_fractions() -> None:
    """If the legend would begin with fractions of a person, it counts people per larger square.

    The square is not made larger than a typical coloured box, even if fractions remain.
    """
    few = boxes_of([1, 8, 8], [20, 50, 60])
    assert min(layer_edges(few, 100)[1:]) < 1 <= min(layer_edges(few, 200)[1:])
    assert map_metres([few]) == 200
    assert map_metres([boxes_of([1, 30, 30], [20, 50, 60])]) == 500
    assert map_metres([boxes_of([1, 8, 8], [20, 1, 2], threshold=1)]) == 500, "the typical box"


def test_classes_below_one_are_left_out_where_enough_remain() -> None:
    crowd = [*np.full(30, 0.4), *np.full(30, 0.6), *np.full(15, 4.0), *np.full(15, 40.0), 300.0]
    edges = layer_edges(cells_of(np.array(crowd), threshold=0.1), 100)
    assert edges[0] == pytest.approx(0.4)
    assert len(edges) >= 3
    assert min(edges[1:]) >= 1
    rare = cells_of(np.array(crowd[:60]), threshold=0.1)
    assert layer_edges(rare, 100)[1] < 1, "else one class would say nothing"


def test_squares_of_nearly_the_same_size_count_as_equal() -> None:
    assert cells_per_square(GRID, 97) == cells_per_square(GRID, 103) == 1
    assert cells_per_square(GRID, 200) == pytest.approx(4, rel=1e-2)


def test_the_unit_is_never_larger_than_the_typical_coloured_box() -> None:
    assert map_metres([boxes_of([3, 3, 8], [20, 50, 60])]) == 200
    hatched = boxes_of([1, 3, 3, 8], [0, 20, 50, 60])
    assert map_metres([hatched]) == 200, "a hatched box is no reason"


def test_cells_that_share_out_a_count_evenly_are_one_box() -> None:
    value = np.repeat([25.0, 50.0, 2.0], 900)
    flat = cells_of(value)
    flat = dataclasses.replace(
        flat, columns=flat.columns | {"partition": np.repeat([0, 1, 2], 900)}
    )
    assert map_metres([flat]) == 2000, "two boxes of 3 km"
    assert map_metres([dataclasses.replace(flat, value=value + np.arange(2700) % 2)]) == 100


def test_all_layers_of_a_map_have_one_unit() -> None:
    shown: list[Layer] = [boxes_of([3, 8, 8], [20, 50, 60]), surface(0.8)]
    opens = opening_of(shown)
    assert opens.metres == 100
    assert max(opens.edges["partitions"]) <= float(per_square(shown[0], 100).max())  # type: ignore[arg-type]


def test_no_class_begins_above_every_published_count() -> None:
    """No class of the legend begins above every published count.

    A box of 100 m with 900 people corresponds to more than 20,000 per 500 m square, a number that
    must not appear in the legend.
    """
    skewed = boxes_of([1] + [5] * 9, [900, *range(20, 29)])
    metres = 500
    assert per_square(skewed, metres).max() > 20_000
    assert max(layer_edges(skewed, metres)) <= 900


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0, 3.0])
def test_classes_spread_over_the_coloured_cells(spread: float) -> None:
    values = np.sort(np.exp(np.random.default_rng(7).normal(3, spread, 4000)))
    weights = np.ones(len(values))
    edges = class_edges(values, weights)
    shares = np.histogram(values, [*edges, np.inf])[0] / len(values)
    assert 5 <= len(edges) <= STEPS
    assert shares.max() <= FULLEST
    assert shares.min() > 0
    assert edges[0] == values[0]
    assert list(edges) == sorted(set(edges))
    assert edges[-1] <= values[-1]


def test_where_one_box_is_nearly_all_of_the_map_classes_follow_magnitudes() -> None:
    edges = class_edges(np.array([5.0, 420.0]), np.array([98.0, 2.0]))
    assert edges[0] == 5.0
    assert edges[1] > 100


def test_a_single_value_is_one_class() -> None:
    assert class_edges(np.array([4.0, 4.0]), np.ones(2)) == (4.0,)
    assert class_edges(np.array([]), np.array([])) == ()


@pytest.mark.parametrize("least", [5e-324, 1e-310, 1e-300])
def test_values_near_the_smallest_number_have_classes(least: float) -> None:
    edges = class_edges(np.array([least, 1.0, 1e300]), np.ones(3))
    assert edges[0] == least
    assert list(edges) == sorted(set(edges))
    assert edges[-1] <= 1e300


@pytest.mark.parametrize("released", examples(), ids=lambda each: each.mechanism)
def test_every_release_opens_on_one_of_its_layers(released: Released) -> None:
    shown = layers(released)
    opens = opening_of(shown)
    names = [layer.name for layer in shown]
    assert opens.layer in names
    assert set(opens.edges) <= set(names)
    for layer in shown:
        # Slices are left out: they share their classes, so even a slice in which nothing stands out
        # has classes.
        if layer.value is not None and not layer.sliced and not standing(layer).any():
            assert opens.edges[layer.name] == ()


def test_classes_of_a_very_large_layer_keep_its_least_and_largest_values() -> None:
    values = np.random.default_rng(1).lognormal(3, 1, 2 * SAMPLED + 1)
    weights = np.ones(len(values))
    edges = class_edges(values, weights)
    assert edges[0] == values.min()
    index = np.searchsorted(edges, values, side="right") - 1
    shares = np.bincount(index, minlength=len(edges)) / len(values)
    assert shares.max() < FULLEST + 0.01
    assert shares.min() > 0


def test_a_few_large_boxes_do_not_take_the_classes_from_the_small_ones() -> None:
    values = np.array([0.09, 0.12, 6.71, 21.7, 24.3, 26.2, 26.8])
    cells = np.array([4096.0, 4096, 64, 16, 16, 16, 16])
    edges = class_edges(values, cells)
    classes = np.searchsorted(edges, values, side="right")
    assert classes[0] < classes[1] < classes[2] < classes[3] < classes[6]
