"""Memory that files of large maps take while they are written."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from dpgeo.artefacts import map_array
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


def test_a_map_array_takes_less_than_three_numbers_a_cell(large: Released) -> None:
    shown = layers(large)
    assert bytes_a_cell(lambda: map_array.encode(large, shown)) < 24
