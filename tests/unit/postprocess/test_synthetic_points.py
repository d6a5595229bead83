"""Synthetic points: they add up to the counts, stay in the area and are reproducible."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import shapely

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, ShapeLayer, layers
from dpgeo.postprocess.synthetic_points import (
    SyntheticPoints,
    counted_layers,
    non_negative_counts,
    synthetic_points,
)
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import to_mercator
from tests.unit.artefacts.releases import examples, grid_release, zones_release

DIGEST = hashlib.sha256(b"a release").digest()


def points_of(released: Released, most: int = 2_000_000) -> SyntheticPoints:
    counted = counted_layers(released, layers(released))
    return synthetic_points(counted, released.area, DIGEST, most)


WITH_COUNTS = [
    released
    for released in examples()
    if released.content.product == "Summary statistics"
    and counted_layers(released, layers(released))
]


@pytest.mark.parametrize("released", WITH_COUNTS, ids=lambda each: str(each.mechanism))
def test_points_add_up_to_the_counts_and_stay_in_the_area(released: Released) -> None:
    points = points_of(released)
    total = sum(float(non_negative_counts(layer).sum()) for layer in points.layers)
    assert (points.weight == 1).all()
    assert abs(len(points.longitude) - total) <= 0.5
    assert released.area.covers(points.longitude, points.latitude).all()


def test_the_same_release_gives_the_same_points_and_another_gives_others() -> None:
    released = grid_release()
    counted = counted_layers(released, layers(released))
    one, again = points_of(released), points_of(released)
    np.testing.assert_array_equal(one.longitude, again.longitude)
    np.testing.assert_array_equal(one.latitude, again.latitude)
    other = synthetic_points(counted, released.area, bytes(32))
    assert len(other.longitude) == len(one.longitude)
    assert not np.isin(other.longitude, one.longitude).all()


def test_each_cell_holds_its_count_within_one_point() -> None:
    released = grid_release(16, area=StudyArea.from_bounds(0, 0, 1, 1))
    points = points_of(released)
    [layer] = points.layers
    assert isinstance(layer, BoxLayer)
    cells = layer.grid.locate(*to_mercator(points.longitude, points.latitude))
    per_cell = np.bincount(cells, minlength=layer.grid.size)
    number = layer.boxes[:, 0] * layer.grid.columns + layer.boxes[:, 2]
    assert np.abs(per_cell[number] - non_negative_counts(layer)).max() < 1 + 1e-9


def test_points_of_a_zone_lie_in_it() -> None:
    released = zones_release()
    points = points_of(released)
    [layer] = points.layers
    assert isinstance(layer, ShapeLayer)
    full = layer.shapes[np.argmax(non_negative_counts(layer))]
    assert shapely.intersects_xy(full, points.longitude, points.latitude).all()


def test_in_a_larger_crowd_points_stand_for_several_and_cells_keep_their_counts() -> None:
    released = grid_release(16, area=StudyArea.from_bounds(0, 0, 1, 1))
    points = points_of(released, most=1000)
    [layer] = points.layers
    assert isinstance(layer, BoxLayer)
    counts = non_negative_counts(layer)
    assert counts.sum() > 2000
    assert 500 < len(points.longitude) <= 1000
    assert points.weight.min() >= 1
    assert abs(points.weight.sum() - counts.sum()) <= 0.5
    cells = layer.grid.locate(*to_mercator(points.longitude, points.latitude))
    per_cell = np.bincount(cells, weights=points.weight, minlength=layer.grid.size)
    number = layer.boxes[:, 0] * layer.grid.columns + layer.boxes[:, 2]
    assert np.abs(per_cell[number] - counts).max() < 1 + 1e-9


def test_a_sliver_of_the_area_in_a_cell_still_gets_its_points() -> None:
    sliver = shapely.Polygon([(0, 0), (1, 0), (1, 1), (0.999999, 1), (0.9, 0.00001), (0, 0.00001)])
    released = grid_release(8, area=StudyArea(sliver))
    points = points_of(released)
    assert len(points.longitude) > 100
    assert released.area.covers(points.longitude, points.latitude).all()
