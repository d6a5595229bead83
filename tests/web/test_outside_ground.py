"""Basemap from another server: off by default, and disclosed on the pages that use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from dpgeo.ground.adding import ground_add
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.maps import grid_release
from tests.unit.ground.files import TILES
from tests.web.published import install, make_dataset, make_member

pytestmark = pytest.mark.django_db

ORIGIN = "https://tiles.example.org"
CREDIT = "© Somebody"
VADUZ = StudyArea.from_bounds(9.50, 47.12, 9.54, 47.16)


@pytest.fixture
def released(tmp_path: Path, settings: Any) -> Release:
    """Publish a map in a place for which this site has no basemap."""
    settings.GROUND_DIR = tmp_path
    cache.clear()
    return install(make_dataset(area=VADUZ), grid_release(VADUZ, 16))


@pytest.fixture
def outside(settings: Any) -> None:
    """Name a tile server of another origin in the settings."""
    settings.DPGEO_GROUND_URL = f"{ORIGIN}/{{z}}/{{x}}/{{y}}.mvt"
    settings.DPGEO_GROUND_ATTRIBUTION = CREDIT


def policy(client: Client, path: str) -> str:
    """Return the Content-Security-Policy header of a page."""
    return str(client.get(path)["Content-Security-Policy"])


def test_by_default_no_page_may_ask_another_server(client: Client, released: Release) -> None:
    for path in (f"/maps/{released.pk}/", f"/embed/{released.pk}/", "/plan/"):
        assert "connect-src" not in policy(client, path)
        assert "network address" not in client.get(path).content.decode()
    assert client.get(f"/maps/{released.pk}/basemap.json").json()["ground"] == []


@pytest.mark.usefixtures("outside")
def test_pages_that_use_another_server_say_so_and_may_ask_it_alone(
    client: Client, released: Release
) -> None:
    for path in (f"/maps/{released.pk}/", f"/embed/{released.pk}/", "/plan/"):
        assert f"connect-src 'self' {ORIGIN};" in policy(client, path), path
        page = client.get(path).content.decode()
        assert "come from tiles.example.org." in page, path
        assert "learns your network address" in page
        assert CREDIT in page
    for path in ("/", f"/maps/{released.pk}/privacy/", f"/embed/{released.pk}/still/"):
        assert ORIGIN not in policy(client, path), path
    ground = client.get(f"/maps/{released.pk}/basemap.json").json()["ground"]
    assert [each["tiles"] for each in ground] == [f"{ORIGIN}/{{z}}/{{x}}/{{y}}.mvt"]


@pytest.mark.usefixtures("outside")
def test_ground_of_this_site_comes_before_another_servers(
    client: Client, released: Release, tmp_path: Path
) -> None:
    ground_add(tmp_path, TILES, name="here")
    path = f"/maps/{released.pk}/"
    assert ORIGIN not in policy(client, path)
    assert "tiles.example.org" not in client.get(path).content.decode()
    (ground,) = client.get(f"{path}basemap.json").json()["ground"]
    assert ground["tiles"].startswith("/ground/")


@pytest.mark.usefixtures("outside")
def test_only_the_worker_of_such_maps_may_fetch_the_tiles(client: Client) -> None:
    worker = "/static/assets/map-worker-AbCd1234.js"
    assert ORIGIN in policy(client, f"{worker}?outside")
    assert ORIGIN not in policy(client, worker)
    assert ORIGIN not in policy(client, "/static/assets/site-AbCd1234.js?outside")


@pytest.mark.usefixtures("outside")
def test_the_desk_warns_of_another_server(client: Client, released: Release) -> None:
    client.force_login(make_member(released.dataset.organisation, "member"))
    page = client.get("/desk/").content.decode()
    assert "load their streets and names from tiles.example.org" in page
