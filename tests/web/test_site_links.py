"""Links lead to the origin in the settings, whatever host a request names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from dpgeo.accounts.site_links import check_origin
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

HOSTS = ["maps.example.org:6666", "maps.example.org.", "MAPS.example.org", "maps.example.org"]


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["maps.example.org", "127.0.0.1"]
    settings.DPGEO_ORIGIN = "https://maps.example.org"
    caches["default"].clear()


def ids(settings: Any, **changes: Any) -> list[str]:
    for name, value in changes.items():
        setattr(settings, name, value)
    return [str(each.id) for each in check_origin()]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"HTTPS": True}, []),
        ({"DPGEO_ORIGIN": "http://127.0.0.1:8000"}, ["dpgeo.accounts.E007"]),
        ({"DPGEO_ORIGIN": "http://127.0.0.1:8000", "ALLOWED_HOSTS": ["localhost"]}, []),
        ({"DPGEO_ORIGIN": "http://maps.example.org", "HTTPS": True}, ["dpgeo.accounts.E008"]),
        ({"DPGEO_ORIGIN": "http://maps.example.org"}, []),
        ({"DPGEO_ORIGIN": "https://maps.example.org/maps"}, ["dpgeo.accounts.E006"]),
        ({"DPGEO_ORIGIN": "maps.example.org"}, ["dpgeo.accounts.E006"]),
        ({"DPGEO_ORIGIN": "https://maps.example.org:"}, ["dpgeo.accounts.E006"]),
        ({"DPGEO_ORIGIN": ""}, ["dpgeo.accounts.E006"]),
        ({"DPGEO_ORIGIN": "http://[::1]:8000", "ALLOWED_HOSTS": ["[::1]"]}, []),
    ],
)
def test_a_missing_or_unusable_origin_is_reported(
    settings: Any, changes: dict[str, Any], found: list[str]
) -> None:
    assert ids(settings, **{"HTTPS": False, **changes}) == found


def test_no_document_repeats_the_port_or_spelling_that_a_request_names() -> None:
    """Caches on the way may keep these documents, and readers follow their links."""
    release = install(make_dataset())
    pages = [
        "/",
        f"/maps/{release.pk}/",
        "/sitemap.xml",
        "/robots.txt",
        "/feed.atom",
        "/api/v1/releases",
        f"/api/v1/releases/{release.pk}",
        "/api/v1/catalogue",
        "/ogc/",
        "/ogc/collections",
        f"/oembed?url=https://maps.example.org/maps/{release.pk}/",
    ]
    for page in pages:
        answers = [Client(HTTP_HOST=host).get(page, secure=True) for host in HOSTS]
        texts = {answer.content for answer in answers}
        assert answers[0].status_code == 200, page
        assert len(texts) == 1, page
        assert b"6666" not in answers[0].content, page
        if page != "/":
            assert b"https://maps.example.org/" in answers[0].content, page


def test_the_port_of_the_origin_is_the_port_of_the_site(settings: Any) -> None:
    settings.DPGEO_ORIGIN = "https://maps.example.org:8443"
    for host in HOSTS:
        listed = Client(HTTP_HOST=host).get("/ogc/", secure=True)
        links = {each["href"] for each in json.loads(listed.content)["links"]}
        assert all(each.startswith("https://maps.example.org:8443/") for each in links), links


@pytest.mark.parametrize(
    "host", ["other.example", "maps.example.org@x", "a b", "maps.example.org:x"]
)
def test_other_hosts_are_refused(host: str) -> None:
    assert Client(HTTP_HOST=host).get("/ogc", secure=True).status_code == 400
