"""Hexagonal and square zones that are generated without a file."""

from __future__ import annotations

import pytest
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.national_grids import AMERICAN, BRITISH, SWISS, NationalGrid
from dpgeo.spatial.ready_zones import grid_squares, h3_hexagons, h3_resolutions
from dpgeo.spatial.zones import Zones

VADUZ = StudyArea.from_bounds(9.49, 47.05, 9.62, 47.20)
QUITO = StudyArea.from_bounds(-78.6, -0.3, -78.4, -0.1)


@pytest.mark.parametrize("area", [VADUZ, QUITO])
def test_hexagons_cover_the_area_once(area: StudyArea) -> None:
    pytest.importorskip("h3")
    resolution = next(each for each in h3_resolutions(area) if each >= 7)
    zones = Zones.from_geojson(h3_hexagons(area, resolution)).within(area)
    assert shapely.area(zones.shapes).sum() == pytest.approx(shapely.area(area.shape), rel=1e-4)
    assert all(len(key) == 15 for key in zones.keys)


@pytest.mark.parametrize(
    ("grid", "side", "longitude", "latitude", "key"),
    [
        (BRITISH, 1000, -0.1276, 51.5072, "TQ3080"),  # the position of Charing Cross, London
        (BRITISH, 10_000, -3.1883, 55.9533, "NT27"),  # Edinburgh
        (BRITISH, 100_000, -3.1883, 55.9533, "NT"),
        (SWISS, 1000, 7.43864, 46.95108, "1kmE2600N1200"),  # the grid's origin, in Berne
        (AMERICAN, 1000, -77.03524, 38.88947, "18SUJ2306"),  # the Washington Monument
        (AMERICAN, 100, -77.03524, 38.88947, "18SUJ234064"),
        (AMERICAN, 1000, -122.4194, 37.7749, "10SEG5180"),  # San Francisco
    ],
)
def test_squares_have_the_names_of_their_national_grid(
    grid: NationalGrid, side: int, longitude: float, latitude: float, key: str
) -> None:
    point = StudyArea.from_bounds(
        longitude - 1e-5, latitude - 1e-5, longitude + 1e-5, latitude + 1e-5
    )
    assert key in Zones.from_geojson(grid_squares(point, grid, side)).keys
