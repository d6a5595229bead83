"""Public pages show every change at once, and to each reader what is theirs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from dpgeo.accounts.models import Organisation
from dpgeo.datasets.data_protection import data_protection_set
from dpgeo.datasets.models import DataProtection
from dpgeo.datasets.services import dataset_update
from dpgeo.ground.regions import Region, region_save
from dpgeo.releases.models import Release
from dpgeo.releases.publication import publish
from dpgeo.releases.services import release_withdraw
from tests.makers import redeclare
from tests.unit.artefacts.releases import grid_release
from tests.web.published import install, make_dataset, make_member, make_organisation

pytestmark = pytest.mark.django_db


@pytest.fixture
def release() -> Release:
    return install(make_dataset())


def change_ledger(release: Release, _: Path) -> None:
    dataset_update(dataset=release.dataset, changes={"budget": Fraction(3, 2)})


def add_ground(_: Release, folder: Path) -> None:
    region = Region(
        name="fens", bounds=(-20, -20, 60, 80), zooms=(0, 14), attribution="Map of the fens",
        tiles="0" * 16, names="",
    )  # fmt: skip
    region_save(folder, region)


def of_release(**facts: Any) -> Callable[[Release, Path], Any]:
    return lambda release, _: Release.objects.filter(pk=release.pk).update(**facts)


def of_dataset(**facts: Any) -> Callable[[Release, Path], Any]:
    return lambda release, _: redeclare(release.dataset, **facts)


def of_publisher(**facts: Any) -> Callable[[Release, Path], Any]:
    return lambda _release, _folder: Organisation.objects.update(**facts)


CHANGES: list[tuple[Callable[[Release, Path], Any], str]] = [
    (of_release(title="Another name"), "Another name"),
    (of_release(description="Other words"), "Other words"),
    (of_release(notes=[{"place": [4.5, 52.5], "text": "A fair was here"}]), "A fair was here"),
    (of_dataset(attribution="Other people"), "Other people"),
    (of_dataset(licence="CC0"), "CC0"),
    (of_dataset(contact="x@y.org"), "x@y.org"),
    (of_publisher(name="New Town"), "New Town"),
    (change_ledger, ""),
    (add_ground, "Map of the fens"),
    (lambda release, _: install(release.dataset, grid_release()), "A later walk"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_a_change_is_shown_at_once(
    release: Release,
    tmp_path: Path,
    settings: Any,
    change: Callable[[Release, Path], Any],
    words: str,
) -> None:
    settings.GROUND_DIR = tmp_path
    address = f"/maps/{release.pk}/"
    before = Client().get(address).text
    made = change(release, tmp_path)
    if isinstance(made, Release):
        Release.objects.filter(pk=made.pk).update(title=words)
    after = Client().get(address).text
    assert after != before
    assert words in after
    assert not words or words not in before


def test_who_is_responsible_for_the_data_is_shown_at_once(release: Release) -> None:
    steward = make_member(release.dataset.organisation, "ada")
    address = f"/maps/{release.pk}/privacy/"
    assert "is responsible for the data" not in Client().get(address).text
    for controller in ("The town hall", "The new mayor"):
        data_protection_set(
            dataset=release.dataset, by=steward, controller=controller, purpose="Bus lanes",
            basis="task", retention="One year", contact="x@y.org",
        )  # fmt: skip
        assert f"{controller} is responsible for the data" in Client().get(address).text
    DataProtection.objects.all().delete()
    assert "is responsible for the data" not in Client().get(address).text


def test_a_withdrawn_map_is_gone_and_a_draft_is_for_members(release: Release) -> None:
    assert Client().get(f"/maps/{release.pk}/").status_code == 200
    release_withdraw(release=release, by=None)
    assert Client().get(f"/maps/{release.pk}/").status_code == 410
    assert Client().get(f"/embed/{release.pk}/").status_code == 410
    draft = install(release.dataset, published=False)
    assert Client().get(f"/maps/{draft.pk}/").status_code == 404
    publish(draft)
    assert Client().get(f"/maps/{draft.pk}/").status_code == 200


def test_members_and_readers_of_other_languages_and_hosts_have_pages_of_their_own(
    release: Release, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "maps.example"]
    address = f"/maps/{release.pk}/"
    english = Client().get(address).text
    assert "Use this map" in english
    assert "Use this map" not in Client(headers={"Accept-Language": "de"}).get(address).text
    assert "http://maps.example/maps/" in Client(headers={"Host": "maps.example"}).get(address).text
    member = Client()
    member.force_login(make_member(make_organisation(), "ada"))
    assert "Sign out ada" in member.get(address).text
    assert Client().get(address).text == english


def test_a_page_with_an_outside_basemap_keeps_its_policy(release: Release, settings: Any) -> None:
    settings.DPGEO_GROUND_URL = "https://tiles.example/{z}/{x}/{y}.pbf"
    settings.DPGEO_GROUND_ATTRIBUTION = "Tiles"
    for _ in range(2):
        answer = Client().get(f"/maps/{release.pk}/")
        assert "https://tiles.example" in answer["Content-Security-Policy"]


def test_the_catalogue_shows_at_once_what_is_published_and_withdrawn(release: Release) -> None:
    first = Client().get("/")
    later = install(release.dataset, grid_release())
    again = Client().get("/", headers={"If-None-Match": first["ETag"]})
    assert later.pk not in first.text
    assert later.pk in again.text
    release_withdraw(release=later, by=None)
    assert later.pk not in Client().get("/", headers={"If-None-Match": again["ETag"]}).text
    assert Client().get("/").text == first.text


def test_a_withdrawn_map_leaves_the_pages_of_other_maps_at_once(release: Release) -> None:
    other = install(release.dataset, grid_release())
    address = f"/maps/{release.pk}/"
    assert other.pk in Client().get(address).text
    release_withdraw(release=other, by=None)
    assert other.pk not in Client().get(address).text
