"""The opening view of a map: its layer, unit and classes depend only on released values."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, layers
from dpgeo.postprocess.layers.layer import unit_boxes
from dpgeo.postprocess.opening import (
    FULLEST,
    STEPS,
    class_edges,
    layer_edges,
    map_metres,
    opening_layer,
    opening_view,
    per_square,
    standing,
)
from dpgeo.spatial.grid import Grid
from tests.unit.artefacts.releases import examples

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


@pytest.mark.parametrize("released", examples(), ids=lambda each: each.mechanism)
def test_every_release_opens_on_one_of_its_layers(released: Released) -> None:
    shown = layers(released)
    opens = opening_view(shown)
    names = [layer.name for layer in shown]
    assert opens.layer in names
    assert set(opens.edges) <= set(names)
    for layer in shown:
        # Slices are left out: they share their classes, so even a slice in which nothing stands out
        # has classes.
        if layer.value is not None and not layer.sliced and not standing(layer).any():
            assert opens.edges[layer.name] == ()
