"""Series on the desk and in the API, and the public page of one."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dpgeo.accounts.models import Membership, Role, User
from dpgeo.core.errors import Conflict
from dpgeo.datasets.models import Dataset
from dpgeo.releases import private_draw, release_job
from dpgeo.releases.models import Series
from dpgeo.releases.services import release_publish, release_run
from tests.makers import make_dataset
from tests.web.api import program_of
from tests.web.desk import Desk, make_desk
from tests.web.test_series import FIRST, add, complete, declare, draw_all, week

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]

FORM = {
    "title": "Weekly visits",
    "mechanism": "uniform-grid",
    "uniform-grid.cells": "16",
    "counting": "people",
    "period": "week",
    "first_day": FIRST.isoformat(),
    "protection": "person",
    "each": "2",
    "most": "20",
    "epsilon": "1",
}


@pytest.fixture
def dataset(desk: Desk) -> Dataset:
    dataset = make_dataset(desk.organisation, budget=1000, new_files="append")
    add(dataset, week(1, range(10)))
    return dataset


def test_the_desk_shows_what_a_series_promises_before_it_is_paid(
    desk: Desk, dataset: Dataset
) -> None:
    address = reverse("desk-series", args=[dataset.slug])
    assert "None yet." in desk.page(address)
    shown = desk.client.post(address, FORM | {"action": "check"}).content.decode()
    assert "at most 20 times in all maps" in shown
    assert "Declare it for ε 1" in shown
    assert not Series.objects.exists()
    answer = desk.client.post(address, FORM | {"action": "declare"})
    assert answer.status_code == 302
    series = Series.objects.get()
    assert (series.created_by, series.all_files) == (desk.user, False)
    assert "Nobody has said yet" in desk.page(address)
    desk.client.post(
        address, {"action": "complete", "series": str(series.pk), "through": "2026-01-18"}
    )
    assert "2 maps are due." in desk.page(address)
    assert series.title in desk.page(reverse("desk-dataset", args=[dataset.slug]))
    desk.client.post(address, {"action": "end", "series": str(series.pk)})
    assert "It was ended by its owner." in desk.page(address)


def test_strangers_neither_see_nor_declare_series(desk: Desk, dataset: Dataset) -> None:
    address = reverse("desk-series", args=[dataset.slug])
    stranger = desk.signed_in("stranger", role=None)
    assert stranger.get(address).status_code == 404
    assert stranger.post(address, FORM | {"action": "declare"}).status_code == 404
    # Strangers are redirected to the sign-in page.
    assert Client().post(address, FORM | {"action": "declare"}).status_code == 302
    assert not Series.objects.exists()


def test_a_series_has_a_public_page_once_a_map_is_published(desk: Desk, dataset: Dataset) -> None:
    add(dataset, week(2, range(10)))
    series = declare(dataset)
    complete(series, 2)
    first, second = draw_all(series)
    address = reverse("series", args=[series.pk])
    visitor = Client()
    assert visitor.get(address).status_code == 404
    assert "No map of it is published yet." in desk.page(address)
    release_publish(release=first, by=None)
    page = visitor.get(address).content.decode()
    assert reverse("release", args=[first.pk]) in page
    assert reverse("release", args=[second.pk]) not in page
    assert "is paid once" in page
    release_publish(release=second, by=None)
    page = visitor.get(address).content.decode()
    assert page.index("12 January 2026") < page.index("5 January 2026")
    assert address in visitor.get(reverse("release", args=[second.pk])).content.decode()


def test_the_admin_shows_a_series_to_its_own_staff(desk: Desk, dataset: Dataset) -> None:
    series = declare(dataset)
    address = reverse("admin:releases_series_change", args=[series.pk])
    for name, organisation, status in (("own", desk.organisation, 200), ("other", None, 302)):
        staff = User.objects.create_user(name, is_staff=True)
        organisation = organisation or make_desk("Another house", "another").organisation
        Membership.objects.create(user=staff, organisation=organisation, role=Role.STEWARD)
        client = Client()
        client.force_login(staff)
        answer = client.get(address)
        assert answer.status_code == status
        listed = client.get(reverse("admin:releases_series_changelist")).content.decode()
        assert (series.title in listed) == (status == 200)
        assert bytes(series.salt).hex() not in answer.content.decode()


def break_off(*_: object) -> None:
    raise Conflict("The files cannot be read.")


def test_a_key_resumes_a_series_of_a_key_until_its_data_are_opened(
    desk: Desk, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = declare(dataset)
    Series.objects.filter(pk=series.pk).update(by_key=True)
    complete(series, 1)
    program = program_of(desk)
    resume = reverse("api:series-resume", args=[series.pk])
    assert program.send("POST", resume, {}).status_code == 409
    with monkeypatch.context() as broken:
        broken.setattr(release_job, "draw", break_off)
        draw_all(series)
    answer = program.send("POST", resume, {})
    assert (answer.status_code, read(answer)["ended"]) == (200, False)
    release = series.releases.get()
    assert release.by_key
    monkeypatch.setattr(private_draw, "_counted_rows", break_off)
    release_run(release_id=release.pk)
    draw_all(series)
    # A job has opened the data for this map and may have drawn noise, so the map counts as drawn
    # and paid for.
    assert program.send("POST", resume, {}).status_code == 409
    assert "Go on with it" not in desk.page(reverse("desk-series", args=[dataset.slug]))
    stranger = program_of(make_desk("Another house", "another"))
    assert stranger.send("POST", resume, {}).status_code == 404


@pytest.mark.parametrize("drawn", [False, True])
def test_a_key_does_not_learn_whether_the_map_of_a_members_series_drew_noise(
    drawn: bool, desk: Desk, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = declare(dataset)
    complete(series, 1)
    program = program_of(desk)
    resume = reverse("api:series-resume", args=[series.pk])
    going_on = program.send("POST", resume, {})
    module, name = (release_job, "encode") if drawn else (private_draw, "_counted_rows")
    monkeypatch.setattr(module, name, break_off)
    draw_all(series)
    series.refresh_from_db()
    assert series.ending == "failed"
    assert series.releases.get().job.drawing == drawn
    failed = program.send("POST", resume, {})
    assert going_on.status_code == failed.status_code == 403
    assert read(going_on) == read(failed)


def read(answer: Any) -> Any:
    return answer.json()
