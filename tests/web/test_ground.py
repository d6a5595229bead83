"""The basemap ("ground") over HTTP, and the command that adds regions to it."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from dpgeo.ground import archives
from dpgeo.ground.map_names import WorldNames
from dpgeo.ground.world_search import WorldSearch
from tests.unit.ground.files import TILES
from tests.unit.spatial.test_named_places import SHAPES
from tests.unit.spatial.test_named_places import world as invented_world

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
