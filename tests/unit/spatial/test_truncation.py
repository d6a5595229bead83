from __future__ import annotations

import numpy as np
import pytest
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ground_grid import FURTHEST_SNAP, NEAREST, GroundGrid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS, Truncation

HOLED = StudyArea(
    shapely.Polygon(
        [(10, 50), (10.2, 50.02), (10.15, 50.1), (10.02, 50.09)],
        [[(10.06, 50.04), (10.1, 50.04), (10.1, 50.06), (10.06, 50.06)]],
    )
)


def test_points_end_inside_the_area_and_outside_its_holes() -> None:
    generator = np.random.default_rng(1)
    lon, lat = generator.uniform(9.9, 10.3, 5_000), generator.uniform(49.9, 50.2, 5_000)
    east, north = Truncation(HOLED, GroundGrid(2)).apply(lon, lat)
    assert HOLED.covers(east / UNITS, north / UNITS).all()
    inside = HOLED.covers(lon.round(7), lat.round(7))
    assert np.array_equal(east[inside], np.rint(lon[inside] * UNITS).astype(int))
    # A point outside moves only to the nearest point of the outline, give or take some metres.
    away = np.hypot((east / UNITS - lon) * np.cos(np.radians(50)), north / UNITS - lat) * 111_195
    flat = shapely.transform(HOLED.shape, lambda xy: xy * [np.cos(np.radians(50)), 1])
    near = shapely.distance(flat, shapely.points(lon * np.cos(np.radians(50)), lat)) * 111_195
    assert (away <= near * 1.01 + 12).all()


def test_truncation_of_a_point_does_not_depend_on_other_points() -> None:
    area = Truncation(HOLED, GroundGrid(5))
    lon, lat = np.array([9.0, 10.08, 11.0]), np.array([50.0, 50.05, 49.0])
    together = area.apply(lon, lat)
    for place in range(3):
        alone = area.apply(lon[[place]], lat[[place]])
        assert (alone[0][0], alone[1][0]) == (together[0][place], together[1][place])


def test_points_beyond_the_antimeridian_come_back_to_the_nearer_side() -> None:
    area = StudyArea.from_bounds(179.0, -1, 180.0, 1)
    east, north = Truncation(area, GroundGrid(1)).apply(np.array([-179.9]), np.array([0.0]))
    assert east[0] / UNITS == pytest.approx(180.0, abs=1e-4)
    assert area.covers(east / UNITS, north / UNITS).all()


@pytest.mark.parametrize("step", [1, 7, 500])
def test_snapped_points_are_near_and_apart(step: int) -> None:
    generator = np.random.default_rng(step)
    lon, lat = generator.uniform(-np.pi, np.pi, 20_000), generator.uniform(-1.48, 1.48, 20_000)
    grid = GroundGrid(step)
    east, north = grid.snap(lon, lat)
    again = grid.snap(east, north)
    np.testing.assert_allclose(again, (east, north), atol=1e-12)
    aside = np.abs((lon - east + np.pi) % (2 * np.pi) - np.pi)
    away = np.hypot(aside * np.cos(lat), lat - north) * EARTH_RADIUS_METRES
    assert away.max() <= FURTHEST_SNAP * step * 1.01
    beside = grid.snap(east + step / EARTH_RADIUS_METRES / np.cos(north), north)
    apart = np.abs((beside[0] - east + np.pi) % (2 * np.pi) - np.pi) * np.cos(north)
    assert (apart * EARTH_RADIUS_METRES >= NEAREST * step).all()
