"""Profiles: sums of counts over strips of a map, with margins; each count is in one strip."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, box_layers
from dpgeo.postprocess.profiles import STRIPS, Profiles, profiles
from dpgeo.postprocess.summary import total
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release, partition_release

AREA = StudyArea.from_bounds(*BOUNDS)


def measured(released: Released) -> BoxLayer:
    return box_layers(released)[0]


def strips_of(layer: BoxLayer) -> Profiles:
    both = profiles(layer)
    assert both is not None
    return both


@pytest.mark.parametrize("make", [grid_release, partition_release])
def test_the_strips_add_up_to_the_total_along_either_axis(make) -> None:  # type: ignore[no-untyped-def]
    layer = measured(make(AREA, 64))
    found = strips_of(layer)
    for strips in (found.eastward, found.northward):
        assert len(strips) == STRIPS
        assert sum(strip.value for strip in strips) == pytest.approx(total(layer).value)
        assert all(one.high == pytest.approx(two.low) for one, two in pairwise(strips))
        assert all(strip.low < strip.high for strip in strips)


def test_a_strip_of_cells_has_the_sum_and_the_margin_of_its_cells() -> None:
    layer = measured(grid_release(AREA, 64))
    west, south, east, north = layer.grid.box_bounds(layer.boxes).T
    strips = strips_of(layer)
    for strip, low, high in [(strips.eastward[3], west, east), (strips.northward[3], south, north)]:
        within = (low >= strip.low - 1e-9) & (high <= strip.high + 1e-9)
        assert strip.value == layer.value[within].sum()
        assert strip.margin == pytest.approx(np.sqrt(np.square(layer.margin[within]).sum()))


def test_a_box_over_several_strips_adds_its_share_to_each() -> None:
    layer = measured(grid_release(AREA, 64))
    one = dataclasses.replace(
        layer,
        boxes=np.array([[0, 48, 0, 48]], dtype=np.int32),
        cells=np.array([48 * 48]),
        value=np.array([2400]),
        margin=np.array([24.0]),
        threshold=np.array([10.0]),
        columns={},
    )
    strips = strips_of(one)
    assert [strip.value for strip in strips.eastward] == pytest.approx([100] * STRIPS)
    assert [strip.margin for strip in strips.northward] == pytest.approx([1.0] * STRIPS)
