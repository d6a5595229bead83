"""Memory that files of large maps take while they are written."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpgeo.artefacts import map_array, preview
from dpgeo.artefacts.view import View
from dpgeo.core.released import GridRelease, Released
from dpgeo.postprocess.layers import layers
from dpgeo.spatial.grid import Grid
from tests.unit.artefacts.releases import grid_release

CELLS = 1024


@pytest.fixture(scope="module")
def large() -> Released:
    """Return a release of a grid whose cells all lie in the area, so that every file has them
    all.
    """
    released = grid_release()
    content = released.content
    assert isinstance(content, GridRelease)
    grid = Grid.over(released.area, CELLS)
    area = type(released.area).from_bounds(*grid.bounds)
    counts = np.random.default_rng(1).poisson(1, grid.shape).astype(np.int64)
    content = dataclasses.replace(content, grid=grid, counts=counts)
    return dataclasses.replace(released, area=area, content=content)


def bytes_a_cell(work: Callable[[], object]) -> float:
    """Return the largest memory that `work` has allocated at any time, in bytes per cell."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / CELLS**2
    finally:
        tracemalloc.stop()


def test_layers_do_not_copy_the_counts_of_a_whole_grid(large: Released) -> None:
    content = large.content
    assert isinstance(content, GridRelease)
    assert np.shares_memory(layers(large)[0].value, content.counts)
    # A cell takes 16 bytes for its box and 8 for its non-negative count, and at most another 24
    # while the layers are computed.
    assert bytes_a_cell(lambda: layers(large)) < 50


def test_a_map_array_takes_less_than_three_numbers_a_cell(large: Released) -> None:
    shown = layers(large)
    assert bytes_a_cell(lambda: map_array.encode(large, shown)) < 24


def test_a_picture_does_not_sort_cells_that_are_in_order(large: Released, tmp_path: Path) -> None:
    shown = layers(large)
    # The limit is 48 bytes a cell. A third is for the picture's pixels, whose number is fixed.
    path = tmp_path / "preview.png"
    assert bytes_a_cell(lambda: preview.write(large, View.opening(shown), path)) < 48


def test_classes_take_little_more_than_a_byte_a_cell(large: Released) -> None:
    view = View.opening(layers(large))
    assert bytes_a_cell(lambda: view.classes) < 4
    assert view.classes is view.classes  # both pictures show them
