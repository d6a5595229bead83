"""Density surfaces made from every kind of release that counts people in boxes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpgeo.core.errors import Conflict
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import box_layers
from dpgeo.postprocess.tasks.surface import (
    density_surface,
    expected_people,
    reconciled,
)
from tests.unit.artefacts import releases

KINDS: list[Callable[[], Released]] = [
    releases.grid_release,
    releases.partition_release,
    releases.tree_release,
    releases.phased_release,
    releases.sparse_release,
    releases.contour_release,
]


@pytest.mark.parametrize("make", KINDS)
def test_a_surface_holds_the_people_of_its_layer_and_nobody_outside(
    make: Callable[[], Released],
) -> None:
    released = make()
    surface = density_surface(released)
    shown = box_layers(released)
    layer, measured = shown[-1], shown[0]
    people = expected_people(layer)
    if measured.cells.sum() == layer.cells.sum():
        variance = 2 * (measured.margin / np.log(20)) ** 2
        people = reconciled(people, layer.cells, measured.value, variance)
    assert surface.counts.sum() == pytest.approx(people.sum())
    assert (surface.counts >= 0).all()
    assert not surface.counts[~layer.grid.inside(released.area)].any()
    assert (surface.noise >= 0).all()


@pytest.mark.parametrize("make", KINDS)
def test_fine_releases_are_summed_to_fewer_cells(
    make: Callable[[], Released], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = density_surface(make())
    monkeypatch.setattr("dpgeo.postprocess.tasks.surface.MAX_CELLS", 3)
    coarse = density_surface(make())
    assert max(coarse.grid.shape) <= 3
    assert coarse.counts.sum() == pytest.approx(whole.counts.sum())
    assert coarse.grid.mercator_bounds[0] == whole.grid.mercator_bounds[0]
    assert coarse.counts[0, 0] == pytest.approx(whole.counts[:3, :3].sum())


@pytest.mark.parametrize("make", [releases.clusters_release, releases.zones_release])
def test_releases_without_boxes_are_refused(make: Callable[[], Released]) -> None:
    with pytest.raises(Conflict, match="no counts of cells"):
        density_surface(make())


def test_a_cell_has_the_noise_of_its_release() -> None:
    released = releases.grid_release()
    surface = density_surface(released)
    inside = surface.noise[surface.noise > 0]
    margin = box_layers(released)[0].margin[0]
    assert np.allclose(inside, 2 * (margin / np.log(20)) ** 2)


def test_people_added_by_noise_are_scaled_down_to_the_error_of_the_sum() -> None:
    people, cells = np.array([6.0, 3.0]), np.ones(2)
    measured, variance = np.array([1.0, -2.0]), np.array([2.0, 2.0])
    assert np.allclose(reconciled(people, cells, measured, variance), [2.0, 1.0])
    assert not reconciled(people, cells, measured - 10, variance).any()
