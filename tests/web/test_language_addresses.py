"""The language of a page, which depends on its URL or else on the browser's preference."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.test import Client

from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release, install

pytestmark = pytest.mark.django_db

PAGES = ("/", "/maps/{}/", "/maps/{}/privacy/", "/about/privacy/", "/about/words/", "/embed/{}/")


@pytest.fixture
def release() -> Release:
    cache.clear()
    return install(grid_release(StudyArea.from_bounds(*BOUNDS), 16), "Where people are")


def language_of(client: Client, address: str, wish: str = "") -> str:
    answer = client.get(address, headers={"Accept-Language": wish} if wish else {})
    named = re.search(r'<html lang="([^"]*)">', answer.content.decode())
    assert named
    assert answer["Content-Language"] == named[1]
    return named[1]


@pytest.mark.parametrize("page", PAGES)
def test_the_address_decides_and_otherwise_the_browser(
    client: Client, release: Release, page: str
) -> None:
    address = page.format(release.pk)
    assert language_of(client, address) == "en-gb"
    assert language_of(client, address, "de-AT,de;q=0.9,en;q=0.5") == "de"
    assert language_of(client, address, "fr,en-US;q=0.5") == "en-gb"
    assert language_of(client, f"/de{address}", "en") == "de"
    assert language_of(client, f"/en{address}", "de") == "en-gb"
    assert "Accept-Language" in client.get(address)["Vary"]
    assert "Accept-Language" not in client.get(f"/de{address}").get("Vary", "")


def test_cards_are_not_shared_between_addresses(client: Client, release: Release) -> None:
    for prefix in ("", "/de", "/en", ""):
        text = client.get(f"{prefix}/", headers={"Accept-Language": "de"}).content.decode()
        assert f'href="{prefix}/maps/{release.pk}/"' in text


def test_what_identifies_a_map_names_no_language(client: Client, release: Release) -> None:
    page = client.get(f"/de/maps/{release.pk}/").content.decode()
    address = f"http://testserver/maps/{release.pk}/"
    assert f'"@id": "{address}"' in page
    assert f"<loc>{address}</loc>" in client.get("/sitemap.xml").content.decode()
    assert client.get(f"/api/v1/releases/{release.pk}").json()["links"]["page"] == address
    assert client.get("/de/sitemap.xml").status_code == 404
