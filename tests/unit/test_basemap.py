"""Land across the 180th meridian, which the basemap draws on both sides of it."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from dpgeo.datasets.dry_land import land_file
from dpgeo.spatial.antimeridian import cut_at_180
from dpgeo.spatial.land import land_polygons
from tests.requirements import need


def widest(polygon: shapely.Polygon) -> float:
    """Return how many degrees of longitude the widest edge of a polygon spans."""
    return max(
        float(np.abs(np.diff(shapely.get_coordinates(ring)[:, 0])).max())
        for ring in shapely.get_rings(polygon)
    )


def test_an_island_on_both_sides_is_cut_in_two() -> None:
    ring = [(170, 10), (-170, 10), (-170, 20), (170, 20), (170, 10)]
    parts = cut_at_180(shapely.Polygon(ring))
    assert sorted(part.bounds for part in parts) == [(-180, 10, -170, 20), (170, 10, 180, 20)]


def test_land_around_the_pole_reaches_down_to_it() -> None:
    ring = [(-170, -70), (-60, -65), (60, -70), (170, -68), (-170, -70)]
    parts = cut_at_180(shapely.Polygon(ring))
    whole = shapely.union_all(parts)
    assert whole.bounds == (-180, -90, 180, -65)
    assert shapely.contains_xy(whole, [0, 175, -175], [-89, -89, -89]).all()


@pytest.mark.parametrize(("longitude", "latitude"), [(179, 68), (-175, 67), (100, 65), (0, -88)])
def test_no_edge_of_the_land_goes_around_the_world(longitude: float, latitude: float) -> None:
    need(land_file().exists(), "the built frontend: make frontend")
    land = land_polygons(land_file())
    around = [each for each in land if widest(each) > 180]
    # Only land at the South Pole may have so wide an edge: the edge that runs along the pole.
    assert all(each.bounds[1] == -90 for each in around)
    assert shapely.contains_xy(land, longitude, latitude).any()
