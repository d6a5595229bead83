"""Zones: strict reading, clipping to the study area, and lookup by position."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.spatial import zones as module
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.zones import Zones

AREA = StudyArea.from_bounds(0, 0, 4, 2)


def square(west: float, south: float, side: float = 1.0) -> dict[str, Any]:
    shape = shapely.box(west, south, west + side, south + side)
    geometry: dict[str, Any] = json.loads(shapely.to_geojson(shape))
    return geometry


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features: Any, **members: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features), **members}


def test_keys_and_names_are_found_in_the_usual_properties() -> None:
    zones = Zones.from_geojson(
        collection(
            feature(square(0, 0), CODE="a", Name="Alder"), feature(square(1, 0), CODE="b", Name="B")
        )
    )
    assert zones.keys == ("a", "b")
    assert zones.names == ("Alder", "B")


def test_written_layers_read_back_unchanged() -> None:
    zones = Zones.from_geojson(
        collection(
            feature(square(0, 0.1), id=1, name="Ö"), feature(square(1, 1 / 3), id=2, name="b")
        )
    )
    again = Zones.from_geojson(json.loads(json.dumps(zones.to_geojson())))
    assert (again.keys, again.names) == (zones.keys, zones.names)
    assert shapely.equals_identical(again.shapes, zones.shapes).all()


@pytest.mark.parametrize("name", ["a", "ä", "\U0001f5fa"])
def test_the_size_of_keys_and_names_in_a_header_is_bounded(name: str) -> None:
    shapes = np.full(3, shapely.box(0, 0, 1, 1), dtype=object)
    zones = Zones(keys=("1", "2", "3"), names=(name * 200,) * 3, shapes=shapes)
    size = len(json.dumps(zones.to_packed()[0], separators=(",", ":")))
    assert size <= zones.most_header_bytes <= 13 * size


def test_damaged_shapes_are_refused() -> None:
    zones = Zones.from_geojson(collection(feature(square(0, 0), id=1, name="a")))
    document, shapes = zones.to_packed()
    with pytest.raises(ValueError, match="not readable"):
        Zones.from_packed(document, shapes[:-1])
    with pytest.raises(ValueError, match="a key, a name and a shape"):
        Zones.from_packed({"keys": ["1", "2"], "names": ["a", "b"]}, shapes)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "FeatureCollection"),
        ([], "FeatureCollection"),
        (collection(), "at least one polygon"),
        (collection(7), "must be a GeoJSON Feature"),
        (collection({"type": "Feature", "properties": 7, "geometry": None}), "must be an object"),
        (collection(feature(None)), "no readable geometry"),
        (collection(feature({"type": "Polygon", "coordinates": "no"})), "no readable geometry"),
        (collection(feature({"type": "Polygon", "coordinates": [[["a"]]]})), "no readable"),
        (collection(feature({"type": "Polygon", "coordinates": []})), "has no area"),
        (collection(feature({"type": "Point", "coordinates": [0, 0]})), "has no area"),
        (
            collection(
                feature(
                    {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]},
                    key="bow",
                )
            ),
            "'bow' is not a valid polygon",
        ),
        (collection(feature(square(500_000, 5_700_000))), "longitudes -180 and 180"),
        (
            collection(feature(square(0, 0)), crs={"properties": {"name": "EPSG:25832"}}),
            "coordinate system of its own",
        ),
        (
            collection({**feature(square(0, 0)), "id": "a"}, {**feature(square(1, 0)), "id": "a"}),
            "given twice",
        ),
        (collection(feature(square(0, 0), key="a\nb")), "unprintable characters"),
        (collection(feature(square(0, 0), key="a" * 201)), "longer than 200"),
    ],
)
def test_unusable_zones_are_refused_with_a_remedy(document: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Zones.from_geojson(document)


def test_more_zones_or_corners_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    document = collection(feature(square(0, 0)), feature(square(1, 0)))
    monkeypatch.setattr(module, "MAX_CORNERS", 9)
    with pytest.raises(ValueError, match="10 corners"):
        Zones.from_geojson(document)
    monkeypatch.setattr(module, "MAX_ZONES", 1)
    with pytest.raises(ValueError, match="2 zones"):
        Zones.from_geojson(document)


def test_zones_are_cut_to_the_area_and_those_outside_left_out() -> None:
    zones = Zones.from_geojson(
        collection(
            feature(square(-0.5, 0), key="half"),
            feature(square(1, 0), key="whole"),
            feature(square(9, 0), key="outside"),
            feature(square(4, 0), key="touching"),
        )
    ).within(AREA)
    assert zones.keys == ("half", "whole")
    assert shapely.area(zones.shapes).tolist() == pytest.approx([0.5, 1])


def test_positions_are_found_in_every_zone_that_holds_them() -> None:
    zones = Zones.from_geojson(
        collection(feature(square(0, 0)), feature(square(1, 0)), feature(square(0.5, 0)))
    )
    place, zone = zones.locator().locate([0.2, 0.7, 1, 3, np.nan], [0.5, 0.5, 0.5, 0.5, 0.5])
    assert list(zip(place.tolist(), zone.tolist(), strict=True)) == [
        (0, 0),
        (1, 0),
        (1, 2),
        (2, 0),
        (2, 1),
        (2, 2),
    ]
