"""Names that are written on maps."""

from __future__ import annotations

from pathlib import Path

from dpgeo.ground.adding import ground_add
from dpgeo.ground.map_names import WorldNames, map_names, sources_of
from dpgeo.ground.regions import regions
from dpgeo.spatial.named_places import GEONAMES, City
from tests.unit.ground.files import TILES

BOX = (9.4, 47.0, 9.7, 47.3)
AROUND = (8.9, 46.5, 10.2, 47.8)


def city(name: str, longitude: float, latitude: float, population: int) -> City:
    """Return an invented city."""
    return City(
        name=name,
        country="Oddland",
        longitude=longitude,
        latitude=latitude,
        time_zone="",
        source=GEONAMES,
        population=population,
    )


def world(folder: Path) -> WorldNames:
    """Return the names of an invented world."""
    table = folder / "country-names.tsv"
    rows = ["Oddland\t9.5\t47.5\t2", "Speck\t9.5\t47.2\t0.0001", "Wide\t9.4\t47.4\t900"]
    table.write_text("\n".join([*rows, "Ours\t9.5\t47.1\t0.08"]))
    cities = [
        city("Inner", 9.5, 47.1, 50_000),
        city("Beside", 9.501, 47.101, 20_000),
        city("Outer", 10.0, 47.7, 200_000),
        city("Elsewhere", 30.0, 10.0, 9_000_000),
    ]
    return WorldNames(table, cities)


def test_without_ground_the_largest_cities_and_the_countries_are_named(tmp_path: Path) -> None:
    found = map_names(BOX, AROUND, tmp_path, [], world(tmp_path))
    assert [each.name for each in found] == ["Oddland", "Outer", "Inner"]
    assert sources_of(found) == ["GeoNames"]
    assert map_names(BOX, AROUND, tmp_path, [], WorldNames(tmp_path / "none", [])) == []


def test_ground_names_its_own_places_and_the_world_those_around_it(tmp_path: Path) -> None:
    ground_add(tmp_path, TILES, name="here")
    found = map_names(BOX, AROUND, tmp_path, regions(tmp_path), world(tmp_path))
    names = [each.name for each in found]
    assert names[:2] == ["Oddland", "Outer"]
    assert names[2] == "Vaduz"
    assert "Balzers" in names
    assert "Inner" not in names
    assert sources_of(found) == ["GeoNames", "© OpenStreetMap contributors"]
    assert len(names) == len(set(names)) <= 41
