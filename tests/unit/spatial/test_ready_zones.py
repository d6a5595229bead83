"""Hexagonal and square zones that are generated without a file."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ready_zones import european_squares, h3_hexagons, h3_resolutions, square_sides
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


def test_squares_of_a_kilometre_cover_the_area_once() -> None:
    zones = Zones.from_geojson(european_squares(VADUZ, 1000)).within(VADUZ)
    assert shapely.area(zones.shapes).sum() == pytest.approx(shapely.area(VADUZ.shape), rel=1e-4)
    assert len(zones) == pytest.approx(VADUZ.ground_square_kilometres, rel=0.3)
    # In EPSG:3035, the point at 52 degrees north and 10 degrees east is 4321 km east and 3210 km
    # north.
    middle = StudyArea.from_bounds(9.999, 51.999, 10.001, 52.001)
    assert "1kmE4321N3210" in Zones.from_geojson(european_squares(middle, 1000)).keys


def test_only_sizes_that_fit_are_offered() -> None:
    assert square_sides(VADUZ) == [1000]
    assert square_sides(QUITO) == []
    assert square_sides(StudyArea.from_bounds(5, 46, 15, 55)) == [100_000, 10_000]
    pytest.importorskip("h3")
    counts = np.array(
        [len(h3_hexagons(VADUZ, each)["features"]) for each in h3_resolutions(VADUZ)[:3]]
    )
    assert np.all(np.diff(counts) > 0)
    assert h3_resolutions(StudyArea.from_bounds(170, -20, 180, -10)) == []
