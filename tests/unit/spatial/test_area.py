from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import ground_scale, to_mercator

SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}


@pytest.mark.parametrize(
    ("geometry", "said"),
    [
        ({"type": "Point", "coordinates": [0, 0]}, "polygon"),
        ({"type": "Nonsense"}, "GeoJSON"),
        ({}, "GeoJSON"),
        ({"type": "Feature", "geometry": None}, "GeoJSON"),
        ({"type": "Polygon", "coordinates": []}, "empty"),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]},
            "crosses itself",
        ),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 95], [0, 95], [0, 0]]]},
            "longitude first",
        ),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], [200, 0], [200, 1], [0, 1], [0, 0]]]},
            "longitude",
        ),
    ],
)
def test_errors_name_the_fault_of_a_study_area(geometry: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        StudyArea.from_geojson(geometry)


def test_edges_belong_to_the_area_and_holes_do_not() -> None:
    ring = StudyArea(
        shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 1), (3, 1), (3, 3), (1, 3)]])
    )

    assert ring.covers([0, 4, 2, 1, 0.5, 5], [0, 4, 2, 2, 0.5, 2]).tolist() == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "area", [StudyArea.from_geojson(SQUARE), StudyArea(shapely.Point(0, 0).buffer(1))]
)
def test_a_position_that_is_not_a_number_is_outside(area: StudyArea) -> None:
    nowhere = [np.nan, np.inf, -np.inf]

    assert not area.covers(nowhere, [0.5] * 3).any()
    assert not area.covers([0.5] * 3, nowhere).any()


def test_ground_areas_are_true_at_any_latitude() -> None:
    """Areas on the ground are right at any latitude.

    The examples are a quarter of a hemisphere and a band that Web Mercator shows four times too
    large.
    """
    sphere = 4 * np.pi * 6371.0088**2
    octant = StudyArea.from_bounds(0, 0, 90, 85)
    north = StudyArea.from_bounds(0, 60, 1, 61)

    assert octant.ground_square_kilometres == pytest.approx(sphere / 8 * np.sin(np.radians(85)))
    assert north.ground_square_kilometres == pytest.approx(
        sphere / 720 * (np.sin(np.radians(61)) - np.sin(np.radians(60)))
    )


def test_known_positions_project_to_known_metres() -> None:
    x, y = to_mercator([180, 0], [0, 45])

    assert x[0] == pytest.approx(20037508.342789244)
    assert y[1] == pytest.approx(5621521.486192066)
    assert ground_scale(60) == pytest.approx(0.5, rel=0.002)
