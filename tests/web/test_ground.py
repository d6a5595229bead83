"""The basemap ("ground") over HTTP, and the command that adds regions to it."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from dpgeo.commands.management.commands import ground as ground_command
from dpgeo.ground import archives
from dpgeo.ground.map_names import WorldNames
from dpgeo.ground.world_search import WorldSearch
from dpgeo.pages.desk.places import place_search
from dpgeo.spatial.area import StudyArea
from tests.maps import grid_release
from tests.unit.ground.files import EXTRACT, TILES
from tests.unit.ground.test_geonames import line
from tests.unit.spatial.test_named_places import SHAPES
from tests.unit.spatial.test_named_places import world as invented_world
from tests.web.published import install, make_dataset

BOX = "9.50,47.12,9.54,47.16"


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """Use an empty folder for the basemap."""
    settings.GROUND_DIR = tmp_path / "ground"
    return tmp_path / "ground"


def ground(*words: object) -> str:
    """Run `manage.py ground` and return its output."""
    out = io.StringIO()
    call_command("ground", *map(str, words), stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_added_ground_is_served_tile_by_tile(client: Client, folder: Path) -> None:
    output = ground("add", TILES, "--name", "here", "--bbox", BOX)
    assert output.startswith("here: 9.500,47.120,9.540,47.160, zooms 0 to 14, ")
    assert ground("list") == output
    (tiles,) = folder.glob("*.pmtiles")
    column, row = archives.tile_at(9.52, 47.14, 14)
    address = f"/ground/{tiles.stem}/14/{column}/{row}"
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert packed["Cache-Control"] == "public, max-age=31536000, immutable"
    assert packed["Content-Type"] == "application/vnd.mapbox-vector-tile"
    assert "Accept-Encoding" in packed["Vary"]
    plain = client.get(address)
    assert "Content-Encoding" not in plain
    assert plain.content == gzip.decompress(packed.content)
    assert "Cookie" not in plain["Vary"]
    assert not plain.cookies
    assert client.get(f"/ground/{tiles.stem}/14/0/0").status_code == 204
    for missing in (f"{'0' * 12}/0/0/0", f"{tiles.stem}/14/99999/0", "../x/0/0/0", "x/0/0/0"):
        assert client.get(f"/ground/{missing}").status_code == 404
    ground("remove", "here")
    assert ground("list") == ""


@pytest.mark.django_db
def test_places_are_found_with_their_outlines(client: Client, folder: Path) -> None:
    ground("add", TILES, "--name", "here", "--bbox", BOX)
    ground("build-search", "here", EXTRACT)
    answer = client.get("/places/", {"q": "vaduz"})
    assert answer["Cache-Control"] == "public, max-age=86400"
    first, second, *_ = answer.json()["places"]
    assert (first["name"], first["kind"]) == ("Vaduz", "capital")
    german = client.get("/de/places/", {"q": "vaduz"}).json()["places"]
    assert german[0]["kind"] == "Hauptstadt"
    outline = json.loads(client.get(second["outline"]).content)
    assert outline["type"] in {"Polygon", "MultiPolygon"}
    assert client.get("/places/?q=" + "x" * 5000).json() == {"places": []}
    assert client.get(f"/ground/{'0' * 12}/outlines/1").status_code == 404


@pytest.mark.django_db
def test_maps_name_the_ground_that_touches_them(client: Client, folder: Path) -> None:
    cache.clear()
    ground("add", TILES, "--name", "here", "--bbox", BOX)
    (tiles,) = folder.glob("*.pmtiles")
    near, far = (
        install(make_dataset(area=area), grid_release(area, 16))
        for area in (
            StudyArea.from_bounds(9.5, 47.1, 9.6, 47.2),
            StudyArea.from_bounds(10.0, 50.0, 10.2, 50.1),
        )
    )
    document = client.get(f"/maps/{near.pk}/basemap.json").json()
    assert document["ground"] == [
        {
            "tiles": f"/ground/{tiles.stem}/{{z}}/{{x}}/{{y}}",
            "bounds": [9.5, 47.12, 9.54, 47.16],
            "zooms": [0, 14],
            "attribution": "© OpenStreetMap contributors",
            "searchable": True,
        }
    ]
    assert client.get(f"/maps/{far.pk}/basemap.json").json()["ground"] == []
    assert "© OpenStreetMap contributors" in client.get(f"/maps/{near.pk}/").content.decode()
    assert 'action="/places/"' in client.get(f"/maps/{near.pk}/").content.decode()
    elsewhere = client.get(f"/maps/{far.pk}/").content.decode()
    assert "OpenStreetMap" not in elsewhere


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give the site invented countries and cities instead of the real ones.

    So these tests do not need the files with the real ones, which the frontend's build writes.
    """
    places = invented_world(tmp_path, SHAPES)
    (tmp_path / "country-names.tsv").write_text("Oddland\t2.9\t1.9\t2", encoding="utf-8")
    named = WorldNames(tmp_path / "country-names.tsv", places.cities.values())
    monkeypatch.setattr("dpgeo.datasets.names_on_maps.world_names", lambda: named)
    monkeypatch.setattr("dpgeo.pages.templatetags.ground.world_names", lambda: named)
    monkeypatch.setattr("dpgeo.pages.ground.world_search", lambda: WorldSearch(places))


@pytest.mark.django_db
@pytest.mark.usefixtures("folder", "world")
def test_maps_without_ground_have_names_of_the_world_and_a_search(client: Client) -> None:
    cache.clear()
    area = StudyArea.from_bounds(2.45, 1.45, 2.55, 1.55)
    near = install(make_dataset(area=area), grid_release(area, 16))
    document = client.get(f"/maps/{near.pk}/basemap.json").json()
    assert document["names"] == [{"name": "Oddtown", "kind": "city", "at": [2.5, 1.5]}]
    assert document["names_from"] == ["GeoNames"]
    page = client.get(f"/maps/{near.pk}/").content.decode()
    assert 'href="https://www.geonames.org/"' in page
    assert 'action="/places/"' in page
    (found,) = client.get("/places/", {"q": "odtown", "box": "2,1,3,2"}).json()["places"]
    assert (found["name"], found["within"]) == ("Oddtown", "France")
    assert "outline" not in found
    everywhere = client.get("/places/", {"q": "oddtown"}).json()["places"]
    assert [each["within"] for each in everywhere] == ["France", "United States"]
    for wrong in ("1,2", "a,b,c,d", "nan,0,1,1"):
        assert client.get("/places/", {"q": "x", "box": wrong}).status_code == 400


@pytest.mark.django_db
def test_towns_of_the_world_are_found_in_every_language_once_their_names_are_added(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    lines = [
        line("Vaduz", "Fadoz", (9.52, 47.14), 5_000, code="PPLC", country="LI"),
        line("Munich", "Monaco di Baviera,M\u00fcnchen", (11.58, 48.14), 1_500_000, country="DE"),
    ]
    table = tmp_path / "cities15000.txt"
    table.write_text("\n".join(lines), encoding="utf-8")

    def found(text: str) -> list[tuple[str, str]]:
        answer = client.get("/places/", {"q": text}).json()["places"]
        return [(each["name"], each["kind"]) for each in answer if each["within"] != "Vaduz"]

    assert ("Munich", "city") not in found("monaco di bav")
    assert "towns and countries" in ground("build-search", "world", table, "--date", "2026-11-01")
    assert "world: towns of GeoNames" in ground("list")
    assert found("monaco di bav") == [("Munich", "city")]
    assert found("fadoz") == [("Vaduz", "capital")]
    page = client.get("/", {"near": "m\u00fcnchen"}).content.decode()
    assert 'name="near" value="m\u00fcnchen"' in page

    search = place_search()
    assert "Munich, Germany" in search.suggest("monaco di bav", 8)
    munich = search.find("m\u00fcnchen")
    assert munich is not None
    assert (munich.name, munich.source.date, munich.time_zone) == (
        *("Munich", "2026-11-01", "Europe/Berlin"),
    )
    assert munich.area.covers([11.58], [48.14]).all()

    # A region added to the basemap has its own place names; the table of the world's place names
    # adds only names in languages that the region lacks.
    ground("add", TILES, "--name", "here")
    assert [name for name, _ in found("vaduz")].count("Vaduz") == 1
    assert found("fadoz") == [("Vaduz", "capital")]
    with pytest.raises(CommandError, match=r"EXTRACT: .*GeoNames"):
        ground("build-search", "world")
    ground("remove", "world")
    assert ("Munich", "city") not in found("monaco di bav")


@pytest.mark.django_db
def test_a_search_on_a_map_finds_only_what_lies_there(client: Client, folder: Path) -> None:
    ground("add", TILES, "--name", "here")
    ask = {"q": "landstrasse", "box": "9.48,47.13,9.54,47.18"}
    there = client.get("/places/", ask).json()["places"]
    whole = client.get("/places/", {"q": "landstrasse"}).json()["places"]
    assert there
    assert len(there) < len(whole)
    for west, south, east, north in (each["box"] for each in there):
        assert west <= 9.54
        assert east >= 9.48
        assert south <= 47.18
        assert north >= 47.13


@pytest.mark.django_db
def test_an_open_map_keeps_its_tiles_while_the_ground_is_updated(
    client: Client, folder: Path
) -> None:
    ground("add", TILES, "--name", "here", "--bbox", BOX)
    (old,) = folder.glob("*.pmtiles")
    address = "/ground/{}/14/{}/{}".format(old.stem, *archives.tile_at(9.52, 47.14, 14))
    before = client.get(address).content
    ground("add", TILES, "--name", "here")
    new = {each.stem for each in folder.glob("*.pmtiles")} - {old.stem}
    assert len(new) == 1
    assert client.get(address).content == before
    assert client.get(address.replace(old.stem, new.pop())).status_code == 200
    assert client.get("/places/", {"q": "balzers"}).json()["places"][0]["name"] == "Balzers"


def test_wrong_words_are_refused_with_the_option(folder: Path) -> None:
    with pytest.raises(CommandError, match="--bbox: Give west"):
        ground("add", TILES, "--name", "a", "--bbox", "1,2")
    with pytest.raises(CommandError, match="--name: Use 1 to 60"):
        ground("add", TILES, "--name", "A b")
    with pytest.raises(CommandError, match="FILE: Is neither"):
        ground("add", __file__, "--name", "a")
    with pytest.raises(CommandError, match="no ground called 'b'"):
        ground("remove", "b")


def test_a_folder_adds_a_region_for_each_name_with_its_extract(tmp_path: Path) -> None:
    shutil.copy(TILES, tmp_path / "one.pmtiles")
    shutil.copy(EXTRACT, tmp_path / "one.osm.pbf")
    shutil.copy(TILES, tmp_path / "two.pmtiles")
    (tmp_path / "notes.txt").write_text("not a map")
    assert [
        (name, path.name, extract.name if extract else None)
        for name, path, extract in ground_command._files(tmp_path, None)
    ] == [("one", "one.pmtiles", "one.osm.pbf"), ("two", "two.pmtiles", None)]
    for path, name in ((tmp_path, "a"), (tmp_path / "none", None)):
        with pytest.raises(CommandError):
            ground_command._files(path, name)
