"""Search for places by name, and fictional people in those places."""

from __future__ import annotations

import json
from importlib import metadata, resources
from pathlib import Path

import pytest

from dpgeo.spatial.named_places import WorldPlaces, fold

SHAPES: dict[str, list[list[float]]] = {
    "Oddland": [[1, 1], [3, 1], [3, 3], [1, 1]],
    "São Ficta": [[179, 1], [-179, 1], [-179, 3], [179, 3], [179, 1]],
}

TOWNS = """Oddtown\tFR\t2.5\t1.5\t900000
Twinford\tGB\t-1.5\t52.0\t60000
Twinford\tGB\t0.5\t51.0\t30000
Oddtown\tUS\t-90.0\t40.0\t20000
Reykjav\u00edk\tIS\t-21.9\t64.1\t118000
"""
"""Fictional towns, two of which have the same name and country."""


def world(folder: Path, shapes: dict[str, list[list[float]]]) -> WorldPlaces:
    """Return a place search over fictional countries with these outlines."""
    lines = [
        json.dumps(
            {
                "name": name,
                "box": [*map(min, *ring), *map(max, *ring)],
                "geometry": {"type": "MultiPolygon", "coordinates": [[ring]]},
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for name, ring in shapes.items()
    ]
    file = folder / "countries.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    zones = Path(str(resources.files("tzdata"))) / "zoneinfo"
    towns = folder / "cities.tsv"
    towns.write_text(TOWNS, encoding="utf-8")
    return WorldPlaces(file, zones, metadata.version("tzdata"), towns)


@pytest.fixture
def places(tmp_path: Path) -> WorldPlaces:
    """Return a place search with two fictional countries."""
    return world(tmp_path, SHAPES)


def test_names_are_found_without_accents_and_by_later_words(places: WorldPlaces) -> None:
    assert places.suggest("sao f", 5) == ["São Ficta"]
    assert places.suggest("york", 5) == ["New York, United States"]
    assert places.suggest("", 5) == []
    assert fold("  ÉTÉ  d'hiver ") == "ete d'hiver"


def test_a_name_that_several_places_have_is_not_guessed(places: WorldPlaces) -> None:
    assert len(places.suggest("san", 8)) > 1
    assert places.find("san") is None
    place = places.find("Oddland")
    assert place is not None
    assert (place.name, place.area.bounds) == ("Oddland", (1.0, 1.0, 3.0, 3.0))
    assert place.source.url.startswith("https://")


def test_larger_towns_come_first_and_a_much_larger_one_is_meant(places: WorldPlaces) -> None:
    assert places.suggest("odd", 5) == [
        "Oddland",
        "Oddtown, France",
        "Oddtown, United States",
    ]
    place = places.find("oddtown")
    assert place is not None
    assert place.area.bounds[0] < 2.5 < place.area.bounds[2]
    assert place.source.name.startswith("GeoNames")
    assert place.time_zone
