"""Public hierarchies of places, and errors about invalid ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.gazetteer import read_gazetteer
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import EVERYWHERE, Places

AREA = StudyArea.from_bounds(10, 50, 11, 51)

ROWS = [
    ("a", "North", "Main Street", 10.1, 50.1),
    ("b", "North", "Main Street", 10.2, 50.1),
    ("c", "South", "Main Street", 10.5, 50.1),
    ("d", "South", "Side Street", 10.9, 50.1),
]


def document(rows: list[tuple[Any, ...]] = ROWS, **more: Any) -> dict[str, Any]:
    return {
        "type": "FeatureCollection",
        **more,
        "features": [
            {
                "type": "Feature",
                "properties": {"key": key, "city": city, "street": street},
                "geometry": {"type": "Point", "coordinates": [lon, lat]},
            }
            for key, city, street, lon, lat in rows
        ],
    }


def places(rows: list[tuple[Any, ...]] = ROWS) -> Places:
    return Places.from_geojson(document(rows))


def test_streets_of_one_name_in_two_cities_are_two_units() -> None:
    names, unit = places().parents(1)
    assert (names, unit.tolist()) == (("North", "South"), [0, 0, 1, 1])
    assert places().parents(2)[0] == (EVERYWHERE,)
    with pytest.raises(ValueError, match="2 levels"):
        places().parents(3)


def test_the_sensitivity_is_the_largest_distance_within_a_visible_unit() -> None:
    degree = np.radians(1) * 6_371_008.8 * np.cos(np.radians(50.1))

    assert places().sensitivity(1) == pytest.approx(0.4 * degree, rel=1e-3)
    assert places().sensitivity(2) == pytest.approx(0.8 * degree, rel=1e-3)


def test_cells_make_three_levels_of_four_by_four() -> None:
    places = Places.of_cells(AREA, 64)
    assert places.levels == ("district", "quarter", "block")
    names, unit = places.parents(2)
    assert len(names) <= 16
    assert places.sensitivity(1) < places.sensitivity(2) < places.sensitivity(3)
    assert AREA.covers(places.longitude, places.latitude).all()
    assert unit.max() == len(names) - 1


def test_the_nearest_place_depends_on_the_cell_alone() -> None:
    grid = Grid.over(AREA, 128)
    find = places().nearest_to_cells(grid)
    every = find(np.arange(grid.size))

    assert set(every) == {0, 1, 2, 3}
    for cell in (0, 77, 5000, grid.size - 1):
        assert find(np.array([cell, cell]))[1] == every[cell]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*ROWS, ("e", "", "Orphan Street", 10.3, 50.3)], "orphan"),
        ([*ROWS, ("e", "Main Street", "North", 10.3, 50.3)], "circle"),
        ([*ROWS, ("a", "North", "Twin", 10.3, 50.3)], "two places have the key"),
        ([*ROWS, ("e", "North", "Moon", 1000.0, 50.3)], "no position"),
        ([*ROWS, ("e", "North", "Moon", float("nan"), 50.3)], "no position"),
        ([*ROWS, ("e", "North", "Moon", "east", 50.3)], "not a number"),
        (ROWS[:1], "at least two"),
        ([], "FeatureCollection"),
    ],
)
def test_bad_hierarchies_are_refused_by_name(rows: list[tuple[Any, ...]], words: str) -> None:
    with pytest.raises(ValueError, match=f"(?i){words}"):
        places(rows)


TABLE = """key,city,street,longitude,latitude
a,North,Main Street,10.1,50.1
b,North,"Main Street, rear",10.2,50.1
"""


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        "Lon;LAT;city;street;key\r\n10.1;50.1;North; Main Street;a\r\n\r\n"
        "10.2;50.1;North;Main Street, rear;b\r\n",
        "key\tcity\tstreet\tlng\tlat\n"
        "a\tNorth\tMain Street\t10.1\t50.1\nb\tNorth\tMain Street, rear\t10.2\t50.1",
    ],
)
def test_a_table_is_read_unchanged(text: str) -> None:
    places = Places.from_geojson(read_gazetteer(text))
    assert places.levels == ("city", "street")
    assert places.keys == ("a", "b")
    assert places.units == (("North", "Main Street"), ("North", "Main Street, rear"))
    assert (places.longitude.tolist(), places.latitude.tolist()) == ([10.1, 10.2], [50.1, 50.1])


def test_places_may_be_in_no_hierarchy() -> None:
    table = "key,name,lon,lat\na,Post,1,1\nb,,2,2\n"
    stops = Places.from_geojson(read_gazetteer(table))
    assert (stops.levels, stops.units) == (("place",), (("a",), ("b",)))
    assert stops.names == ("Post", "b")  # the place has no name, so its key takes the name's place
    again = Places.from_geojson(stops.to_geojson())
    assert (again.keys, again.names, again.units) == (stops.keys, stops.names, stops.units)
    assert again.within(StudyArea.from_bounds(0, 0, 3, 3)).names == stops.names


def test_a_polygon_stands_for_a_point_inside_it() -> None:
    ring = [[0, 0], [3, 0], [3, 1], [1, 1], [1, 3], [0, 3], [0, 0]]
    outline = {"type": "Polygon", "coordinates": [ring]}
    point = {"type": "Point", "coordinates": [5, 5]}
    features: list[dict[str, Any]] = [
        {"type": "Feature", "properties": {}, "geometry": each} for each in (outline, point)
    ]
    park = Places.from_geojson({"type": "FeatureCollection", "features": features})
    assert shapely.contains_xy(shapely.Polygon(ring), park.longitude[0], park.latitude[0])
    features[0]["geometry"] = {"type": "Polygon", "coordinates": [[[0, 0]]]}
    with pytest.raises(ValueError, match="Feature 1 has no valid outline"):
        Places.from_geojson({"type": "FeatureCollection", "features": features})
