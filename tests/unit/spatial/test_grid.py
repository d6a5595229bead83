from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import FRAME_STEP_METRES, Grid
from dpgeo.spatial.projection import to_degrees, to_mercator

AREAS = [
    StudyArea.from_bounds(-74.3, 40.5, -73.7, 40.95),
    StudyArea.from_bounds(13.0, 52.0, 13.0001, 52.1),
    StudyArea.from_bounds(-180, -85, 180, 85),
    StudyArea.from_bounds(-0.0001, -0.0001, 0.0001, 0.0001),
]

RING = StudyArea(
    shapely.Polygon(
        [(0, 0), (1, 0), (1, 1), (0, 1)], [[(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8)]]
    )
)
"""A square with a square hole."""


@pytest.mark.parametrize("area", AREAS)
def test_the_frame_holds_the_whole_area_with_its_edges(area: StudyArea) -> None:
    west, south, east, north = area.mercator_bounds
    for cells in (1, 7, 256, 4096):
        grid = Grid.over(area, cells)
        corners = grid.locate([west, west, east, east], [south, north, south, north])
        assert (corners >= 0).all()


@pytest.mark.parametrize("area", AREAS)
def test_grids_of_powers_of_two_nest_exactly(area: StudyArea) -> None:
    random = np.random.default_rng(1)
    coarse, fine = Grid.over(area, 64), Grid.over(area, 1024)
    west, south, east, north = area.mercator_bounds
    x, y = random.uniform(west, east, 5000), random.uniform(south, north, 5000)

    fine_row, fine_column = np.divmod(fine.locate(x, y), 1024)

    assert (coarse.west, coarse.north) == (fine.west, fine.north)
    assert coarse.cell == 16 * fine.cell
    np.testing.assert_array_equal(coarse.locate(x, y), fine_row // 16 * 64 + fine_column // 16)


@pytest.mark.parametrize("area", AREAS)
def test_the_frames_side_is_a_whole_number_of_steps_hardly_larger_than_the_area(
    area: StudyArea,
) -> None:
    west, south, east, north = area.mercator_bounds
    grid = Grid.over(area, 1)

    steps = grid.cell / FRAME_STEP_METRES

    assert steps == pytest.approx(round(steps), abs=1e-6)
    assert 0 < grid.cell - max(east - west, north - south) <= FRAME_STEP_METRES * 1.0000001


def test_a_position_is_located_in_row_order_from_the_north_west() -> None:
    grid = Grid(west=0.0, north=30.0, cell=10.0, columns=4, rows=3)

    assert grid.locate([5, 35, 5], [25, 25, 5]).tolist() == [0, 3, 8]
    # A point on a cell's western or northern edge belongs to that cell. A point on its eastern or
    # southern edge belongs to the next cell.
    assert grid.locate([0, 10, 0], [30, 30, 20]).tolist() == [0, 1, 4]


def test_positions_outside_the_frame_or_nowhere_are_minus_one() -> None:
    grid = Grid(west=0.0, north=30.0, cell=10.0, columns=4, rows=3)

    outside = grid.locate([-0.001, 40, 5, 5, np.nan, np.inf], [5, 5, 30.001, 0, 5, 5])

    assert outside.tolist() == [-1] * 6


def test_cells_inside_a_hole_do_not_touch_the_area() -> None:
    grid = Grid.over(RING, 20)

    inside = grid.inside(RING)

    assert not inside[6:14, 6:14].any()
    assert inside[0].all()
    assert inside[:, -1].all()


@pytest.mark.parametrize("cells", [1, 3, 20, 64])
def test_every_position_of_the_area_lies_in_a_cell_inside(cells: int) -> None:
    # The long slanted side is straight in degrees but curved in the grid's Web Mercator.
    half_a_continent = StudyArea(shapely.Polygon([(-20, 10), (60, 75), (-20, 75)]))
    triangle = StudyArea(shapely.Polygon([(5, 44), (5.3, 44.02), (5.1, 44.2)]))
    for area in (RING, triangle, half_a_continent, *AREAS):
        grid = Grid.over(area, cells)
        west, south, east, north = area.bounds
        random = np.random.default_rng(2)
        lon, lat = random.uniform(west, east, 20_000), random.uniform(south, north, 20_000)
        corners = np.array(shapely.get_coordinates(area.shape))
        lon, lat = np.append(lon, corners[:, 0]), np.append(lat, corners[:, 1])
        covered = area.covers(lon, lat)

        cell = grid.locate(*to_mercator(lon[covered], lat[covered]))

        assert (cell >= 0).all()
        assert grid.inside(area).ravel()[cell].all()


def test_the_frame_holds_the_edges_of_an_area_that_fills_it_to_the_millimetre() -> None:
    for hair in (0.0, 1e-9, 1e-5, 4e-4, 0.001, 0.004):
        side = 1000 * FRAME_STEP_METRES - hair
        (west, east), (south, north) = to_degrees([0.0003, 0.0003 + side], [0.0004, 0.0004 + side])
        area = StudyArea.from_bounds(float(west), float(south), float(east), float(north))
        grid = Grid.over(area, 64)
        west_edge, south_edge, east_edge, north_edge = area.mercator_bounds
        xs = [west_edge, east_edge, west_edge, east_edge]
        ys = [south_edge, south_edge, north_edge, north_edge]
        assert (grid.locate(xs, ys) >= 0).all(), hair


def test_ground_areas_add_up_to_that_of_the_frame() -> None:
    grid = Grid.over(AREAS[0], 64)
    west, south, east, north = grid.bounds
    radius = 6371008.8
    sines = math.sin(math.radians(north)) - math.sin(math.radians(south))
    exact = radius**2 * math.radians(east - west) * sines
    assert grid.ground_areas.sum() * 64 == pytest.approx(exact, rel=1e-12)
