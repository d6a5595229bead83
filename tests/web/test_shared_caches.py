"""Public pages in shared caches: what may be stored and for how long, and nothing personal.

A page may be stored only if its request had no cookie and no key.
"""

from __future__ import annotations

import gzip
import hashlib

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.test import Client, RequestFactory

from dpgeo.pages.shared_caches import shared
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_withdraw
from tests.unit.artefacts.releases import grid_release
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

SHARED = "public, max-age=0, s-maxage=60, must-revalidate"
PERSONAL = "private, no-cache"


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), grid_release())


def pages(release: Release) -> list[str]:
    map_pages = (f"maps/{release.pk}/", f"maps/{release.pk}/privacy/")
    frames = (f"embed/{release.pk}/", f"embed/{release.pk}/still/")
    return ["/", "/about/privacy/", "/about/words/", *(f"/{each}" for each in map_pages + frames)]


def test_strangers_pages_may_be_shared_for_a_minute(client: Client, release: Release) -> None:
    for address in pages(release):
        answer = client.get(address)
        assert (answer.status_code, answer["Cache-Control"]) == (200, SHARED), address
        assert answer["X-Accel-Expires"] == "1"
        assert not answer.cookies
        varies = {each.strip() for each in answer["Vary"].split(",")}
        assert {"Cookie", "Accept-Language", "Accept-Encoding"} <= varies
        held = client.get(address, headers={"If-None-Match": answer["ETag"]})
        assert (held.status_code, held.content) == (304, b"")
        assert {"Cookie", "Accept-Language"} <= {each.strip() for each in held["Vary"].split(",")}
        assert held["Cache-Control"] == SHARED


def test_a_page_in_a_chosen_language_is_the_same_for_all_browsers(
    client: Client, release: Release
) -> None:
    english, german = (client.get(f"/{code}/maps/{release.pk}/") for code in ("en", "de"))
    assert "Accept-Language" not in german["Vary"]
    assert english["ETag"] != german["ETag"]


def test_what_a_member_gets_is_never_shared(client: Client, release: Release) -> None:
    strangers = client.get(f"/maps/{release.pk}/")["ETag"]
    client.force_login(get_user_model().objects.create(username="m", email="m@example.org"))
    for address in pages(release):
        answer = client.get(address, headers={"If-None-Match": strangers})
        assert (answer.status_code, answer["Cache-Control"]) == (200, PERSONAL), address
        assert "X-Accel-Expires" not in answer
        assert "ETag" not in answer


@pytest.mark.parametrize("header", [{"Cookie": "anything=1"}, {"Authorization": "Bearer key"}])
def test_what_a_cookie_or_a_key_brings_is_never_shared(
    client: Client, release: Release, header: dict[str, str]
) -> None:
    answer = client.get(f"/maps/{release.pk}/", headers=header)
    assert answer["Cache-Control"] == PERSONAL


def test_a_page_with_a_token_or_a_cookie_of_its_own_is_never_shared() -> None:
    def with_token(request: HttpRequest) -> HttpResponse:
        return HttpResponse(get_token(request))

    def with_cookie(_: HttpRequest) -> HttpResponse:
        answer = HttpResponse()
        answer.set_cookie("a", "b")
        return answer

    for view in (with_token, with_cookie):
        assert shared(view)(RequestFactory().get("/"))["Cache-Control"] == PERSONAL


def test_a_withdrawn_map_is_not_shared_and_its_etag_no_longer_holds(
    client: Client, release: Release
) -> None:
    address = f"/maps/{release.pk}/"
    before = client.get(address)
    release_withdraw(release=release, by=None)
    after = client.get(address, headers={"If-None-Match": before["ETag"]})
    assert (after.status_code, after["Cache-Control"]) == (410, PERSONAL)
    assert "X-Accel-Expires" not in after
    listed = client.get("/", headers={"If-None-Match": before["ETag"]})
    assert listed.status_code == 200
    assert release.title not in listed.content.decode()


def test_drafts_are_never_shared(client: Client) -> None:
    draft = install(make_dataset(), grid_release(), published=False)
    assert client.get(f"/maps/{draft.pk}/").status_code == 404
    file = client.get(f"/api/v1/releases/{draft.pk}/files/map.bin")
    assert "X-Accel-Expires" not in file


def test_a_page_is_compressed_only_for_those_who_accept_that(
    client: Client, release: Release
) -> None:
    packed = {"Accept-Encoding": "gzip"}
    for address in (*pages(release), "/?q=walks"):
        compressed = client.get(address, headers=packed).content
        for refused in ("gzip;q=0", "identity, gzip;q=0", "notgzip"):
            plain = client.get(address, headers={"Accept-Encoding": refused})
            assert "Content-Encoding" not in plain, address
            assert "Accept-Encoding" in plain["Vary"], address
            assert gzip.decompress(compressed) == plain.content


def test_pages_and_documents_are_compressed_but_no_ranges_and_pictures(
    client: Client, release: Release
) -> None:
    packed = {"Accept-Encoding": "gzip"}
    for address in (*pages(release), f"/api/v1/releases/{release.pk}", "/ogc/collections"):
        plain, answer = client.get(address), client.get(address, headers=packed)
        assert answer["Content-Encoding"] == "gzip", address
        assert "Accept-Encoding" in answer["Vary"]
        assert gzip.decompress(answer.content) == plain.content
        assert plain["ETag"] == answer["ETag"].removeprefix("W/") != answer["ETag"], address
    held = {**packed, "If-None-Match": answer["ETag"]}
    assert client.get(address, headers=held).status_code == 304
    files = f"/api/v1/releases/{release.pk}/files"
    part = client.get(f"{files}/statement.json", headers={**packed, "Range": "bytes=0-999"})
    assert (part.status_code, len(part.getvalue())) == (206, 1000)
    assert "Content-Encoding" not in part
    picture = client.get(f"{files}/preview.png", headers=packed)
    assert "Content-Encoding" not in picture
    file = release.files.get(name="preview.png")
    assert hashlib.sha256(picture.content).hexdigest() == file.sha256
