"""Lists of public releases: few queries at any length, and always up to date."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dpgeo.accounts.models import Organisation
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.services import dataset_update
from dpgeo.pages.cards import cards_make
from dpgeo.releases.files import made_files
from dpgeo.releases.models import Release
from dpgeo.releases.publication import publish
from dpgeo.releases.selectors import releases_visible_to
from dpgeo.releases.services import release_withdraw
from dpgeo.spatial.area import StudyArea
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

MOST_QUERIES = {
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
    assert few <= MOST_QUERIES[address]
    for dataset in datasets:
        install(dataset)
    cards_make(seconds=60)
    assert queries(address) == few


def test_a_file_takes_one_query() -> None:
    release = install(make_dataset())
    address = f"/api/v1/releases/{release.pk}/files/cells.parquet"
    assert queries(address) == 1


def test_the_order_of_lists_is_read_from_an_index() -> None:
    newest = releases_visible_to(AnonymousUser()).order_by("-day", "-pk")[:20]
    plan = newest.explain()
    assert "release_newest_first" in plan or connection.vendor != "sqlite"
    assert "TEMP B-TREE" not in plan


@pytest.fixture
def shown() -> Release:
    """Make a release, and check that every list shows it."""
    release = install(make_dataset())
    install(make_dataset(title="Rides"))
    for body in bodies().values():
        assert b"Walks" in body or release.pk.encode() in body
    return release


def test_a_withdrawn_release_is_gone_from_every_list_at_once(shown: Release) -> None:
    release_withdraw(release=shown, by=None)
    for address, body in bodies().items():
        assert shown.pk.encode() not in body, address
        assert b'datasets/walks"' not in body, address


def test_a_published_release_is_in_every_list_at_once(shown: Release) -> None:
    draft = install(make_dataset(title="Swims"), published=False)
    for address, body in bodies().items():
        assert draft.pk.encode() not in body, address
        assert b"swims" not in body.lower(), address
    publish(draft)
    for address, body in bodies().items():
        name = draft.dataset.slug if "datasets" in address else draft.pk
        assert name.encode() in body, address


CHANGES: list[tuple[str, dict[str, Any], bytes, set[str]]] = [
    ("release", {"title": "Another name"}, b"Another name", set(LISTS) - {"/api/v1/datasets"}),
    (
        "release",
        {"description": "Other words"},
        b"Other words",
        {*LISTS} - {"/api/v1/datasets", "/"},
    ),
    ("dataset", {"attribution": "Other people"}, b"Other people", {"/ogc/collections"}),
    ("dataset", {"licence": "CC0"}, b"CC0", {"/api/v1/releases", "/api/v1/catalogue"}),
    ("dataset", {"keywords": ["hiking"]}, b"hiking", {"/api/v1/datasets", "/api/v1/catalogue"}),
    ("dataset", {"covers_from": "2026-03-01"}, b"2026-03-01", {"/api/v1/catalogue"}),
    ("dataset", {"title": "Outings"}, b"Outings", {"/api/v1/datasets", "/api/v1/releases"}),
    ("dataset", {"description": "Of feet"}, b"Of feet", {"/api/v1/datasets"}),
    ("publisher", {"name": "New Town"}, b"New Town", {"/", *LISTS} - {LISTS[4], LISTS[5]}),
    ("publisher", {"contact": "x@y.org"}, b"x@y.org", {"/api/v1/releases", "/api/v1/catalogue"}),
    ("budget", {}, b'"total_epsilon":"1.5"', {"/api/v1/releases", "/api/v1/datasets"}),
]


@pytest.mark.parametrize(("what", "facts", "words", "where"), CHANGES)
def test_changed_texts_are_in_every_list_at_once(
    shown: Release, what: str, facts: dict[str, Any], words: bytes, where: set[str]
) -> None:
    match what:
        case "release":
            Release.objects.filter(pk=shown.pk).update(**facts)
        case "dataset":
            Dataset.objects.filter(pk=shown.dataset_id).update(**facts)
        case "publisher":
            Organisation.objects.filter(slug="example-city").update(**facts)
        case _:
            dataset_update(dataset=shown.dataset, changes={"budget": Fraction(3, 2)})
    for address in where:
        assert words in Client().get(address).content, address


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


def test_a_file_is_listed_once_it_is_public(shown: Release) -> None:
    """Collections are listed when their files are public.

    A server that was killed while publishing leaves some files private for a moment.
    """
    made_files(shown).update(public=False)
    Release.objects.filter(pk=shown.pk).update(title="Half of it")
    address = "/ogc/collections"
    assert shown.pk.encode() not in Client().get(address).content
    made_files(shown).update(public=True)
    assert shown.pk.encode() in Client().get(address).content


def test_the_bounds_of_a_study_area_follow_its_outline() -> None:
    dataset = make_dataset(area=StudyArea.from_bounds(4, 52, 5, 53))
    assert dataset.bounds == (4, 52, 5, 53)
    moved = StudyArea.from_bounds(-10, -9, -8, -7)
    dataset_update(dataset=dataset, changes={"study_area": moved.to_geojson()})
    assert dataset.bounds == moved.bounds == Dataset.objects.get(pk=dataset.pk).bounds
    install(dataset)
    response = Client().get("/api/v1/datasets?bbox=-9,-8,-8.5,-7.5")
    assert [each["bbox"] for each in json.loads(response.content)["results"]] == [[*moved.bounds]]
