"""The language of a page, which depends on its URL or else on the browser's preference."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release, install
from tests.web.desk import Desk, make_desk

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


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_chosen_language_stay_in_it(client: Client, release: Release, page: str) -> None:
    text = client.get("/de" + page.format(release.pk)).content.decode()
    links = set(re.findall(r'<(?:a|form)\b[^>]*? (?:href|action)="(/[^"]*)"', text))
    inside = {link for link in links if link.startswith("/de/")}
    others = {f"/en{page.format(release.pk)}"}
    assert inside or "embed" in page
    assert all(link.startswith(("/api/", "/static/")) for link in links - inside - others), links


def test_cards_are_not_shared_between_addresses(client: Client, release: Release) -> None:
    for prefix in ("", "/de", "/en", ""):
        text = client.get(f"{prefix}/", headers={"Accept-Language": "de"}).content.decode()
        assert f'href="{prefix}/maps/{release.pk}/"' in text


def test_every_language_is_offered_under_the_same_question(client: Client) -> None:
    text = client.get("/de/?kind=heatmap").content.decode()
    links = dict(re.findall(r'<link rel="alternate" hreflang="([^"]*)" href="([^"]*)">', text))
    assert links == {
        "en-gb": "http://testserver/en/?kind=heatmap",
        "de": "http://testserver/de/?kind=heatmap",
        "x-default": "http://testserver/?kind=heatmap",
    }
    assert re.findall(r'<a href="([^"]*)" lang="en-gb"', text) == ["/en/?kind=heatmap"]
    assert 'lang="de" hreflang' not in text


def test_what_identifies_a_map_names_no_language(client: Client, release: Release) -> None:
    page = client.get(f"/de/maps/{release.pk}/").content.decode()
    address = f"http://testserver/maps/{release.pk}/"
    assert f'"@id": "{address}"' in page
    assert f"<loc>{address}</loc>" in client.get("/sitemap.xml").content.decode()
    assert client.get(f"/api/v1/releases/{release.pk}").json()["links"]["page"] == address
    assert client.get("/de/sitemap.xml").status_code == 404


def test_missing_pages_are_missing_in_the_language(client: Client) -> None:
    assert language_of(client, "/de/maps/no-such-map/") == "de"
    assert language_of(client, "/no/such/page/", "de") == "de"
    assert client.get("/fr/").status_code == 404


def test_the_desk_stays_in_its_language(client: Client) -> None:
    door = client.get("/de/desk/", follow=True)
    assert door.redirect_chain == [("/de/accounts/login/?next=/de/desk/", 302)]
    assert "Anmelden" in door.content.decode()
    desk: Desk = make_desk("City", "owner")
    text = desk.page("/de/desk/")
    assert reverse("desk-keys") == "/desk/keys/"
    assert 'href="/de/desk/keys/"' in text
