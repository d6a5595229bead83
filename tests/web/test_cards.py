"""Cards of maps in lists, which are stored so that lists need not read whole maps."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.test import Client

from dpgeo.datasets.storage import private_storage
from dpgeo.pages import cards
from dpgeo.pages.cards import FIELDS, Card, make_card
from dpgeo.pages.release_summary import summarise
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release, install
from tests.unit.artefacts import releases

pytestmark = pytest.mark.django_db

AREA = StudyArea.from_bounds(*BOUNDS)


@pytest.fixture(autouse=True)
def empty_caches() -> None:
    cache.clear()


@pytest.fixture
def published() -> Release:
    return install(grid_release(AREA, 32), "Where people are")


def refuse(*_: Any) -> Any:
    raise AssertionError("The whole map was read.")


def test_the_reaper_makes_cards_so_that_no_list_reads_a_map(
    client: Client, published: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = install(grid_release(AREA, 16), "A draft", state=ReleaseState.DRAFT)
    call_command("reap", "--once")
    assert Release.objects.get(pk=published.pk).card["fields"] == FIELDS
    assert Release.objects.get(pk=draft.pk).card == {}
    cache.clear()
    monkeypatch.setattr(cards, "build_summary", refuse)
    assert published.title in client.get("/").text
    newer = install(grid_release(AREA, 32), "A newer map")
    with pytest.raises(AssertionError, match="whole map"):
        client.get("/")  # the newer map has no stored card, so the page reads all of it
    assert newer.card == {}


def test_a_card_of_each_kind_of_map_can_be_stored() -> None:
    for released in releases.examples():
        card = make_card(summarise(released))
        stored = json.loads(json.dumps(asdict(card), allow_nan=False))
        assert Card(**stored) == card, type(released.content).__name__


def test_a_map_that_cannot_be_read_keeps_no_other_from_its_card(published: Release) -> None:
    damaged = install(grid_release(AREA, 16), "A damaged map")
    private_storage().delete(damaged.blob_name)
    private_storage().save(damaged.blob_name, ContentFile(b"no map"))
    assert cards.cards_make(seconds=60) == 1
    assert Release.objects.get(pk=published.pk).card["fields"] == FIELDS
    assert Release.objects.get(pk=damaged.pk).card == {}
