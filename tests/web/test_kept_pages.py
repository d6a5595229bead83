"""Cached pages of published maps for anonymous visitors: their keys, and what removes them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.db.models import QuerySet
from django.db.models.sql.compiler import SQLCompiler
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dpgeo.accounts.models import Organisation
from dpgeo.core.levels import make_level
from dpgeo.core.released import Released
from dpgeo.datasets.data_protection import data_protection_set
from dpgeo.datasets.models import DataProtection, Dataset
from dpgeo.datasets.services import dataset_update
from dpgeo.ground.regions import Region, region_save, world_file
from dpgeo.pages import kept_pages
from dpgeo.pages.catalogue import Known, Wanted, area_overview
from dpgeo.pages.compiled_queries import CompiledQuery
from dpgeo.pages.overview import Overview
from dpgeo.pages.release_summary import Summary, summary_of
from dpgeo.pages.seo import structured
from dpgeo.releases.list_cache import RELEASE_FACTS, Row, TextCache, Texts
from dpgeo.releases.models import Release
from dpgeo.releases.publication import publish
from dpgeo.releases.selectors import TABLES
from dpgeo.releases.services import release_withdraw
from dpgeo.releases.states import PUBLIC
from tests.unit.artefacts.releases import examples, grid_release
from tests.web.published import install, make_dataset, make_member, make_organisation

pytestmark = pytest.mark.django_db

KEPT = ("/maps/{pk}/", "/maps/{pk}/privacy/", "/embed/{pk}/")

FIXED = (
    "blob_name",
    "delta_exponent",
    "dataset__ledger__radius",
    "dataset__ledger__input_step",
    "dataset__ledger__geo__notion",
    "dataset__ledger__geo__delta_exponent",
)
"""Columns of a release and its ledgers that are constant once both are complete.

A release is complete with its blob, and a ledger with its notion of privacy.
"""

JOINS = ("dataset", "dataset__organisation", "dataset__ledger", "dataset__ledger__geo")

PAGE_COLUMNS = (
    *(name.replace("__pk", "__id") for name in RELEASE_FACTS),
    "dataset__study_area",
    *FIXED,
    *JOINS,
)
"""The columns that pages may show: those that are in a cached page's key, and those in FIXED."""

OTHER_TABLES = {"releases_release", "releases_releasefile", "datasets_dataprotection"}
"""Further tables that a page may query.

What the page shows of other maps and of data protection is part of its cache key, and a release's
files never change.
"""


@pytest.fixture(autouse=True)
def empty_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(kept_pages, "_pages", TextCache(kept_pages.MOST_KEPT))


@pytest.fixture
def release() -> Release:
    return install(make_dataset())


def forget() -> None:
    kept_pages._pages = TextCache(kept_pages.MOST_KEPT)


@pytest.mark.parametrize("address", KEPT)
def test_a_kept_page_is_the_page_and_takes_two_queries(release: Release, address: str) -> None:
    install(release.dataset, grid_release())
    first = Client().get(address.format(pk=release.pk))
    with CaptureQueriesContext(connection) as queries:
        again = Client().get(address.format(pk=release.pk))
    assert len(queries) <= 2
    forget()
    assert first.content == again.content == Client().get(address.format(pk=release.pk)).content
    for name in ("ETag", "Cache-Control", "Vary", "Content-Security-Policy"):
        assert again[name] == first[name]


@pytest.mark.parametrize("released", examples(), ids=lambda each: type(each.content).__name__)
def test_a_page_shows_nothing_of_its_rows_but_what_it_is_kept_under(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page reads a column outside PAGE_COLUMNS.

    The page is made from rows with these columns only, so reading another one would cause a query.
    """
    release = install(make_dataset(points_budget=make_level("ln 16", 200)), released)
    seen: list[str] = []

    def make_from_facts(
        write: Callable[[Release], bytes], *_: str
    ) -> Callable[[Sequence[Row]], Texts]:
        def make(rows: Sequence[Row]) -> Texts:
            only = Release.objects.select_related(*TABLES).only(*PAGE_COLUMNS).get(pk=rows[0][0])
            with CaptureQueriesContext(connection) as queries:
                yield write(only), False
            seen.extend(each["sql"] for each in queries)

        return make

    monkeypatch.setattr(kept_pages, "make_of_releases", make_from_facts)
    for address in KEPT:
        assert Client().get(address.format(pk=release.pk)).status_code == 200
    tables = {name for each in seen for name in re.findall(r'(?:FROM|JOIN) "(\w+)"', each)}
    assert tables
    assert tables <= OTHER_TABLES
    own = [each for each in seen if f'"releases_release"."id" = \'{release.pk}\' LIMIT' in each]
    assert not own


def test_the_kept_catalogue_shows_what_is_published_at_once(release: Release) -> None:
    first = Client().get("/").text
    with CaptureQueriesContext(connection) as queries:
        assert Client().get("/").text == first
    assert len(queries) <= 3
    later = install(release.dataset, grid_release())
    again = Client().get("/").text
    assert later.pk not in first
    assert later.pk in again
    assert Client().get("/?q=walk").text != again
    assert Client().get("/?q=nothing-like-it").text != again


def test_django_writes_no_sql_for_a_kept_page(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(release.dataset, grid_release())
    pages = ["/", *(address.format(pk=release.pk) for address in KEPT)]
    first = [Client().get(page).text for page in pages]

    def as_sql(*_: object, **__: object) -> None:
        raise AssertionError("Django writes SQL.")

    monkeypatch.setattr(SQLCompiler, "as_sql", as_sql)
    assert [Client().get(page).text for page in pages] == first


def test_a_map_withdrawn_while_the_catalogue_is_written_is_not_kept_on_it(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def withdraw(wanted: Wanted, datasets: Mapping[int, Known]) -> Overview | None:
        found = area_overview(wanted, datasets)
        if release.pk in Release.objects.filter(state__in=PUBLIC).values_list("pk", flat=True):
            release_withdraw(release=release, by=None)
        return found

    other = install(release.dataset, grid_release())
    monkeypatch.setattr("dpgeo.pages.public_views.area_overview", withdraw)
    assert release.pk in Client().get("/").text
    again = Client().get("/").text
    assert release.pk not in again
    assert other.pk in again


def test_a_compiled_query_selects_what_the_query_would(release: Release) -> None:
    other = install(release.dataset, grid_release())

    def titles(pk: str, dataset: int) -> QuerySet[Release, tuple[str, str]]:
        return Release.objects.filter(pk=pk, dataset=dataset).values_list("pk", "title")

    query = CompiledQuery(titles, "id of a release", -1)
    for each in (release, other):
        assert query.rows(each.pk, each.dataset_id) == list(titles(each.pk, each.dataset_id))
    assert query.rows(release.pk, release.dataset_id + 1) == []
    with pytest.raises(ValueError, match="zip"):
        query.rows(release.pk)


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
    return lambda release, _: Dataset.objects.filter(pk=release.dataset_id).update(**facts)


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


def test_a_map_published_while_a_page_is_written_is_not_kept_on_it(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Release] = []

    def publish_another(shown: Release) -> Summary:
        if not made:
            made.append(install(shown.dataset, grid_release()))
        return summary_of(shown)

    address = f"/maps/{release.pk}/"
    monkeypatch.setattr("dpgeo.pages.public_views.summary_of", publish_another)
    Client().get(address)
    (other,) = made
    assert other.pk in Client().get(address).text
    release_withdraw(release=other, by=None)
    assert other.pk not in Client().get(address).text


def test_a_map_published_and_withdrawn_while_a_page_is_written_is_not_kept_on_it(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Release] = []

    def publish_another(shown: Release) -> Summary:
        if not made:
            made.append(install(shown.dataset, grid_release()))
        return summary_of(shown)

    def structured_later(*given: Any) -> str:
        found = structured(*given)
        if made[0].rules.public:
            release_withdraw(release=made[0], by=None)
            made[0].refresh_from_db()
        return found

    address = f"/maps/{release.pk}/"
    monkeypatch.setattr("dpgeo.pages.public_views.summary_of", publish_another)
    monkeypatch.setattr("dpgeo.pages.public_views.structured", structured_later)
    first = Client().get(address).text
    assert made[0].pk in first
    assert made[0].pk not in Client().get(address).text


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


def test_pages_are_written_again_once_the_worlds_towns_have_changed(
    release: Release, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Release] = []

    def summary_counted(shown: Release) -> Summary:
        written.append(shown)
        return summary_of(shown)

    settings.GROUND_DIR = tmp_path
    monkeypatch.setattr("dpgeo.pages.public_views.summary_of", summary_counted)
    address = f"/maps/{release.pk}/"
    for towns in ("some", "some more"):
        with closing(sqlite3.connect(world_file(tmp_path))) as table:
            table.execute(f"CREATE TABLE {towns!r} (name)")
        written.clear()
        for _ in range(2):
            assert Client().get(address).status_code == 200
        assert len(written) == 1


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


def test_no_more_pages_are_kept_than_a_process_may(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_pages, "_pages", TextCache(2))
    for pk in (release.pk, install(release.dataset).pk, install(release.dataset).pk):
        assert Client().get(f"/embed/{pk}/").status_code == 200
    assert len(kept_pages._pages._texts) == 2
