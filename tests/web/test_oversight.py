"""The privacy officer's pages: budgets over time, findings, yearly report, and who may see them."""

from __future__ import annotations

import datetime
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from dpgeo.accounts.models import Role, User
from dpgeo.accounts.selectors import organisations_overseen_by
from dpgeo.audit.models import EventKind
from dpgeo.budgets.models import Entry, EntryKind
from dpgeo.budgets.services import budget_debit
from dpgeo.core.guarantees import Notion, Unit, guarantee
from dpgeo.datasets.dataset_budgets import dataset_merge_ledgers
from dpgeo.datasets.layer_declaration import PublicSource
from dpgeo.datasets.layers import public_layer_add
from dpgeo.datasets.models import Dataset, PeopleAnswer, PeopleWarning
from dpgeo.releases.oversight import oversight_findings, people_of, report_years, yearly_report
from dpgeo.releases.services import release_publish
from tests.makers import SOURCE, make_dataset, make_ready, make_release
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

PAGE = "/desk/privacy/"
NOW = timezone.now().astimezone(datetime.UTC).year


def spend(dataset: Dataset, units: int, year: int, kind: EntryKind = EntryKind.DEBIT) -> None:
    """Add an entry to the dataset's ledger at the very end of a year."""
    at = datetime.datetime(year, 12, 31, 23, 59, tzinfo=datetime.UTC)
    entry = Entry(ledger=dataset.ledger, job=uuid4(), kind=kind, units=units, what="A map")
    with mock.patch("django.utils.timezone.now", return_value=at):
        entry.save()


def zones(side: float) -> io.BytesIO:
    """Return a file of one square zone whose side is given in degrees."""
    ring = [[10.0, 50.0], [10.0 + side, 50.0], [10.0 + side, 50.0 + side], [10.0, 50.0 + side]]
    shape = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    feature = {"type": "Feature", "properties": {"key": "a"}, "geometry": shape}
    return io.BytesIO(json.dumps({"type": "FeatureCollection", "features": [feature]}).encode())


def words_of(desk: Desk) -> list[str]:
    return [f"{each.dataset.title}: {each.words}" for each in oversight_findings(desk.organisation)]


def test_spending_is_added_up_by_year_and_by_people(desk: Desk) -> None:
    one, two = make_dataset(desk.organisation), make_dataset(desk.organisation)
    shared = make_dataset(desk.organisation, budget=None, ledger=one.ledger)
    spend(one, 100, 2024)
    spend(one, 50, 2025)
    spend(one, -50, NOW, EntryKind.REFUND)
    people = people_of(desk.organisation)
    assert [each.spent for each in people] == [[{2024: 100, 2025: 50, NOW: -50}], [{}]]
    assert {each.pk for each in people[0].datasets} == {one.pk, shared.pk}
    assert [each.pk for each in people[1].datasets] == [two.pk]
    assert report_years(people) == sorted({2024, 2025, NOW})


def test_a_merger_moves_spending_without_counting_it_twice(desk: Desk) -> None:
    one, two = make_dataset(desk.organisation), make_dataset(desk.organisation)
    make_before(one)
    make_before(two)
    dataset_merge_ledgers(dataset=one, ledger=two.ledger, by=desk.user)
    (people,) = people_of(desk.organisation)
    assert sum(people.spent[0].values()) == 2_000_000


def make_before(dataset: Dataset) -> None:
    cost = guarantee(Notion.PURE_DP, Fraction(1), Unit(dataset.unit))
    budget_debit(ledger=dataset.ledger, job=uuid4(), cost=cost, what="A map", who="somebody")


def test_fresh_budgets_of_the_same_people_are_found_until_they_are_merged(desk: Desk) -> None:
    one = make_dataset(desk.organisation, title="One")
    two = make_dataset(desk.organisation, title="Two")
    warning = PeopleWarning.objects.create(dataset=one, other=two)
    (words,) = words_of(desk)
    assert words.startswith("One: Many of the same people are in Two")
    assert "nobody has answered" in words
    warning.answer = PeopleAnswer.objects.create(dataset=one, reason="Two years.", who="somebody")
    warning.save()
    (words,) = words_of(desk)
    assert "on record" in words
    dataset_merge_ledgers(dataset=one, ledger=two.ledger, by=desk.user)
    assert words_of(desk) == []


def test_layers_declared_late_and_zones_around_a_house_are_found(
    desk: Desk, tmp_path: Path
) -> None:
    dataset = make_dataset(desk.organisation, title="One")
    add: dict[str, Any] = {"dataset": dataset, "kind": "zones", "created_by": None}
    add["key_property"] = "key"
    public_layer_add(**add, name="wards", title="Wards", file=zones(0.05))
    public_layer_add(**add, name="houses", title="Houses", file=zones(0.0002))
    (words,) = words_of(desk)
    assert "The layer Houses has zones as small as a single house" in words
    make_ready(dataset, tmp_path)
    public_layer_add(
        **add,
        name="late",
        title="Late",
        file=zones(0.05),
        provenance=PublicSource.read(SOURCE),
    )
    late, small = sorted(words_of(desk), reverse=True)
    assert "The layer Late was declared after a file had been uploaded" in late
    assert "Houses" in small


def test_the_report_tells_what_happened_in_the_year_alone(desk: Desk, tmp_path: Path) -> None:
    dataset = make_dataset(desk.organisation, title="One")
    spend(dataset, 250_000, NOW - 1)
    make_ready(dataset, tmp_path)
    release, _draft = make_release(dataset), make_release(dataset)
    release_publish(release=release, by=desk.user)
    now, before = yearly_report(desk.organisation, NOW), yearly_report(desk.organisation, NOW - 1)
    assert [(each.in_year, each.until) for each in now.lines] == [(2_000_000, 2_250_000)]
    assert [(each.in_year, each.until) for each in before.lines] == [(250_000, 250_000)]
    assert [(each.pk, units) for each, units in now.published] == [(release.pk, 1_000_000)]
    acts = dict(now.acts)
    assert (acts[EventKind.REQUESTED], acts[EventKind.PUBLISHED]) == (2, 1)
    assert before.published == []
    assert before.acts == []
    page = desk.page(f"{PAGE}{desk.organisation.slug}/{NOW}/")
    assert "epsilon 2.25" in page
    assert release.title in page


def test_officers_and_administrators_see_their_organisation_and_others_nothing(
    desk: Desk,
) -> None:
    other = make_desk("Other house", "other")
    make_dataset(desk.organisation, title="Hidden trips")
    report = f"{PAGE}{desk.organisation.slug}/{NOW}/"
    assert "Hidden trips" not in other.page(PAGE)
    assert other.client.get(report).status_code == 404
    client = desk.signed_in("officer", role=Role.STEWARD)
    assert [client.get(each).status_code for each in (PAGE, report)] == [404, 404]
    officer = User.objects.get(username="officer")
    officer.user_permissions.add(Permission.objects.get(codename="view_event"))
    assert [client.get(each).status_code for each in (PAGE, report)] == [200, 200]
    assert organisations_overseen_by(User.objects.get(pk=officer.pk)) == [desk.organisation]
    for year in (NOW + 1, NOW - 1, 0, 9999):
        assert desk.client.get(f"{PAGE}{desk.organisation.slug}/{year}/").status_code == 404
