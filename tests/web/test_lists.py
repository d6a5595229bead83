"""Lists of public releases: few queries at any length, and always up to date."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dpgeo.pages.cards import cards_make
from dpgeo.releases.models import Release
from tests.web.published import install, make_dataset, make_member, make_organisation

pytestmark = pytest.mark.django_db

LISTS = [
    "/api/v1/releases",
    "/api/v1/releases?bbox=4,51,5,53",
    "/api/v1/datasets",
    "/api/v1/catalogue",
    "/ogc/collections",
    "/ogc/collections?f=html",
    "/",
]

MAX_QUERIES = {
    "/api/v1/releases": 2,
    "/api/v1/releases?bbox=4,51,5,53": 2,
    "/api/v1/datasets": 1,
    "/api/v1/catalogue": 2,
    "/ogc/collections": 3,
    "/ogc/collections?f=html": 3,
    "/": 3,
}
"""Largest number of database queries for a list."""


def queries(address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert Client().get(address).status_code == 200
    return len(seen)


def bodies() -> dict[str, bytes]:
    return {address: Client().get(address).content for address in LISTS}


@pytest.mark.parametrize("address", LISTS)
def test_many_releases_take_no_more_queries_than_few(address: str) -> None:
    datasets = [make_dataset(title=f"Walks {number}") for number in range(4)]
    install(datasets[0])
    cards_make(seconds=60)
    few = queries(address)
    assert few <= MAX_QUERIES[address]
    for dataset in datasets:
        install(dataset)
    cards_make(seconds=60)
    assert queries(address) == few


def test_a_file_takes_one_query() -> None:
    release = install(make_dataset())
    address = f"/api/v1/releases/{release.pk}/files/cells.parquet"
    assert queries(address) == 1


@pytest.fixture
def shown() -> Release:
    """Make a release, and check that every list shows it."""
    release = install(make_dataset())
    install(make_dataset(title="Rides"))
    for body in bodies().values():
        assert b"Walks" in body or release.pk.encode() in body
    return release


def test_a_list_with_drafts_may_not_be_cached(shown: Release) -> None:
    draft = install(shown.dataset, published=False)
    member = Client()
    member.force_login(make_member(make_organisation(), "ada"))
    for _ in range(2):
        answer = member.get("/api/v1/releases")
        assert draft.pk.encode() in answer.content
        assert answer["Cache-Control"] == "private, no-store"
    stranger = Client().get("/api/v1/releases")
    assert draft.pk.encode() not in stranger.content
    assert stranger["Cache-Control"] == "public, no-cache"
