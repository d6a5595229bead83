"""The cells that intersect a study area, computed block by block."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import EDGE_METRES, Grid
from dpgeo.spatial.projection import to_degrees

STAR = shapely.Polygon(
    [
        (10 + radius * np.cos(angle), 50 + radius * np.sin(angle))
        for angle, radius in zip(
            np.linspace(0, 2 * np.pi, 40, endpoint=False), np.tile([0.1, 0.03], 20), strict=True
        )
    ]
)
RING = shapely.box(10, 50, 10.2, 50.2).difference(shapely.box(10.05, 50.05, 10.15, 50.13))
PARTS = shapely.union_all(
    [shapely.Point(10, 50).buffer(0.02), shapely.Point(10.3, 50.1).buffer(0.05)]
)


def one_by_one(grid: Grid, area: StudyArea) -> NDArray[np.bool_]:
    """Return a mask (rows, columns) of the cells that intersect the area.

    Each cell's box, in degrees and slightly enlarged, is compared with the outline in degrees.
    """
    left = grid.west + np.arange(grid.columns) * grid.cell
    top = grid.north - np.arange(grid.rows) * grid.cell
    west, north = to_degrees(left - EDGE_METRES, 0)[0], to_degrees(0, top + EDGE_METRES)[1]
    east = to_degrees(left + grid.cell + EDGE_METRES, 0)[0]
    south = to_degrees(0, top - grid.cell - EDGE_METRES)[1]
    squares = shapely.box(west[None, :], south[:, None], east[None, :], north[:, None])
    touching: NDArray[np.bool_] = shapely.intersects(area.shape, squares)
    return touching


@pytest.mark.parametrize("shape", [STAR, RING, PARTS], ids=["star", "ring", "parts"])
@pytest.mark.parametrize("cells", [1, 7, 8, 9, 64, 100, 513])
def test_blocks_find_the_same_cells_as_one_by_one(shape: shapely.Geometry, cells: int) -> None:
    area = StudyArea(shape)
    grid = Grid.over(area, cells)
    np.testing.assert_array_equal(grid.inside(area), one_by_one(grid, area))
