"""Nearest centres on the ground, and centres spread evenly over an area."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import (
    Centres,
    areas_of_influence,
    ground_metres,
    nearest,
    spread_evenly,
)
from dpgeo.spatial.grid import Grid

TRIANGLE = StudyArea.from_geojson(
    {"type": "Polygon", "coordinates": [[[10, 50], [12, 50], [10, 51.5], [10, 50]]]}
)


def middles(grid: Grid, cells: np.ndarray) -> Centres:
    row, column = np.divmod(cells, grid.columns)
    return Centres(grid.west + (column + 0.5) * grid.cell, grid.north - (row + 0.5) * grid.cell)


@pytest.mark.parametrize("bounds", [(10, 50, 10.5, 50.4), (-170, -60, 170, 75)])
def test_the_nearest_centre_is_nearest_in_metres_on_the_ground(
    bounds: tuple[float, float, float, float],
) -> None:
    area = StudyArea.from_bounds(*bounds)
    grid = Grid.over(area, 64)
    cells = np.arange(grid.size)
    centres = spread_evenly(area, 13)
    at = middles(grid, cells)
    away = ground_metres(
        Centres(at.x[:, None], at.y[:, None]), Centres(centres.x[None], centres.y[None])
    )

    index = nearest(grid, cells, centres)

    assert (away[cells, index] <= away.min(axis=1) + 0.01).all()
    assert set(index) == set(range(13))


def test_a_cells_centre_does_not_depend_on_other_cells() -> None:
    grid = Grid.over(TRIANGLE, 512)
    # The centres form a regular lattice, so many cells lie on midlines between two of them.
    side = np.linspace(10, 12, 9)
    centres = Centres.from_degrees(*(part.ravel() for part in np.meshgrid(side, 48 + side / 4)))
    cells = np.arange(grid.size)
    together = nearest(grid, cells, centres)
    random = np.random.default_rng(1)

    for size in (1, 2, 3, 7, 1000):
        chosen = np.sort(random.choice(cells, size, replace=False))
        assert nearest(grid, chosen, centres).tolist() == together[chosen].tolist()


@pytest.mark.parametrize("number", [1, 2, 17, 300])
def test_centres_are_spread_over_the_whole_area(number: int) -> None:
    centres = spread_evenly(TRIANGLE, number)
    grid = Grid.over(TRIANGLE, 256)
    cells = np.flatnonzero(grid.inside(TRIANGLE))
    size = np.bincount(nearest(grid, cells, centres), minlength=number)

    assert len(centres) == number
    assert size.min() > 0.4 * size.mean()
    assert size.max() < 2 * size.mean()
    assert np.array_equal(centres.x, spread_evenly(TRIANGLE, number).x)


def test_areas_of_influence_divide_the_study_area() -> None:
    centres = spread_evenly(TRIANGLE, 12)
    shapes = areas_of_influence(centres, TRIANGLE)
    grid = Grid.over(TRIANGLE, 128)
    cells = np.flatnonzero(grid.inside(TRIANGLE))
    lon, lat = middles(grid, cells).degrees
    covered = TRIANGLE.covers(lon, lat)
    index = nearest(grid, cells, centres)

    assert shapely.area(shapes).sum() == pytest.approx(TRIANGLE.shape.area)
    hits = shapely.intersects_xy(shapes[index], lon, lat)
    # Near borders, a few positions are in the area of a centre that is not the nearest, because
    # areas have sides that are straight on the map but not on the ground.
    assert hits[covered].mean() > 0.995
