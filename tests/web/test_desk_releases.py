"""Releases on the owners' pages: quoted, confirmed, paid for once, published, withdrawn."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import urlencode

import pytest
from django.http import QueryDict

from dpgeo.accounts.models import Role
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.models import Job
from dpgeo.pages.desk.map_form import ReleaseForm
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_run
from dpgeo.releases.states import ReleaseState
from tests.makers import spent
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(desk: Desk) -> Dataset:
    """Make a dataset with an ingested file and a budget of 2."""
    return desk.declare(ready=True)


ASKED = {
    "mechanism": "uniform-grid",
    "parameters.cells": "8",
    "epsilon": "0.5",
    "counting": "people",
    "bound": "3",
}
"""A request, as the query of its form."""

NAMED = {"title": "Evenings of May", "description": "Nobody was there.", "licence": "CC BY 4.0"}


def address(dataset: Dataset, page: str, **changes: str) -> str:
    """Return the address of a page of a request, "cost" or "publish"."""
    return f"/desk/datasets/{dataset.slug}/map/{page}/?{urlencode(ASKED | changes)}"


def token(desk: Desk, dataset: Dataset, **changes: str) -> str:
    """Return the token of the page that pays for a request."""
    sealed: str = desk.client.get(address(dataset, "publish", **changes)).context["token"]
    return sealed


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("epsilon", "0", "greater than zero"),
        ("epsilon", "0.1234567", "six decimals"),
        ("epsilon", "half", "is not a number"),
        ("epsilon", "2.5", "of 2 is left"),
        ("bound", "0", "from 1 to 100,000"),
        ("bound", "some", "whole number"),
        ("bound", "\u0661", "whole number"),
        ("mechanism", "magic", "not one of the available choices"),
        ("parameters.cells", "1000000000", "from 1 to 4096"),
        ("household", "11", "from 1 to 10"),
        ("to_day", "2026-01-01", "is required with"),
        ("guess.people", "0", "from 1 to"),
    ],
)
def test_it_shows_errors_at_their_fields_and_spends_nothing(
    desk: Desk, dataset: Dataset, field: str, value: str, message: str
) -> None:
    Dataset.objects.filter(pk=dataset.pk).update(columns={"time": "seen"})
    valid = token(desk, dataset)
    answer = desk.client.get(address(dataset, "cost", go="publish", **{field: value}))
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert message in str(errors.get(field) or errors["from_day"])
    page = answer.content.decode()
    if field != "mechanism":
        assert f'value="{value}"' in page
    paying = address(dataset, "publish", **{field: value})
    assert desk.client.get(paying).status_code == 302
    desk.client.post(paying, NAMED | {"token": valid})
    assert spent(dataset) == 0
    assert not Release.objects.exists()


def test_a_link_to_a_request_fills_in_its_form_and_options(desk: Desk, dataset: Dataset) -> None:
    query = ASKED | {"household": "2", "bounding": "popular", "totals": "0"}
    form = desk.client.get(address(dataset, "cost", **query)).context["form"]
    assert form.quote is not None
    asked = form.quote.request
    assert (asked.household, asked.bounding, asked.totals, asked.bound) == (2, "popular", 0, 3)
    again = ReleaseForm(QueryDict(form.query()).dict(), dataset=dataset)
    assert again.asked == form.asked


def test_it_asks_for_confirmation_before_spending(desk: Desk, dataset: Dataset) -> None:
    answer = desk.client.get(address(dataset, "cost", go="publish"))
    assert answer.status_code == 302
    page = desk.client.get(answer["Location"]).content.decode()
    assert "Spend 0.5 and publish" in page
    assert "0.5 of 2; 1.5 is left" in page
    assert spent(dataset) == 0
    assert not Job.objects.filter(task="releases.run").exists()


def test_a_confirmation_sent_repeatedly_is_paid_once(desk: Desk, dataset: Dataset) -> None:
    sent = NAMED | {"token": token(desk, dataset)}
    answers = [desk.client.post(address(dataset, "publish"), sent) for _ in range(3)]
    release = Release.objects.get()
    assert {answer["Location"] for answer in answers} == {f"/desk/releases/{release.pk}/"}
    assert spent(dataset) == 500_000
    assert (release.title, release.request.parameters["cells"], release.bound) == (
        "Evenings of May",
        8,
        3,
    )
    assert release.created_by == desk.user


def test_a_confirmation_of_somebody_else_is_refused(desk: Desk, dataset: Dataset) -> None:
    valid = token(desk, dataset)
    colleague = desk.signed_in("colleague", role=Role.STEWARD)
    for sealed in (valid, "", "nonsense"):
        answer = colleague.post(address(dataset, "publish"), NAMED | {"token": sealed})
        assert answer.status_code == 422
    assert spent(dataset) == 0


def test_a_confirmation_for_another_dataset_is_refused(desk: Desk, dataset: Dataset) -> None:
    other = desk.declare(ready=True, title="Other")
    sent = NAMED | {"token": token(desk, dataset)}
    assert desk.client.post(address(other, "publish"), sent).status_code == 422
    assert spent(other) == 0


def test_a_confirmation_beyond_the_present_budget_is_refused(desk: Desk, dataset: Dataset) -> None:
    sent = NAMED | {"token": token(desk, dataset, epsilon="1.5")}
    desk.request(dataset, epsilon="1")
    answer = desk.client.post(address(dataset, "publish", epsilon="1.5"), sent, follow=True)
    assert "of 2 is left" in str(answer.context["form"].errors["epsilon"])
    assert spent(dataset) == 1_000_000


def test_it_waits_then_shows_the_draft_then_publishes_and_withdraws(
    desk: Desk, dataset: Dataset
) -> None:
    release = desk.request(dataset)
    page = f"/desk/releases/{release.pk}/"
    assert "Its 0.5 is reserved, not spent" in desk.page(page)
    assert release_run(release_id=release.pk)
    shown = desk.page(page)
    assert f"/maps/{release.pk}/" in shown
    assert f"/api/v1/releases/{release.pk}/files/" in shown
    assert "Look at the draft map" in shown
    opening = re.search(r'data-opens="([^"]+)"', shown)
    assert opening is not None, "the draft is drawn as its readers will see it"
    assert json.loads(html.unescape(opening[1]))["layer"]

    assert desk.client.get(page + "publish/").status_code == 405
    desk.client.post(page + "publish/")
    release.refresh_from_db()
    assert release.state == ReleaseState.PUBLISHED
    assert "Withdraw" in desk.page(page)

    desk.client.post(page + "withdraw/")
    release.refresh_from_db()
    assert release.state == ReleaseState.WITHDRAWN
    assert "what it cost stays spent" in desk.page(page)
    assert spent(dataset) == 500_000


@pytest.mark.parametrize("action", ["", "publish/", "reject/", "withdraw/", "cancel/", "retry/"])
def test_it_does_not_exist_for_strangers(desk: Desk, dataset: Dataset, action: str) -> None:
    page = f"/desk/releases/{desk.request(dataset).pk}/{action}"
    stranger = make_desk(name="Other house", owner="other").client
    assert stranger.post(page).status_code in {404, 405}
    assert stranger.get(page).status_code in {404, 405}


@pytest.mark.parametrize("action", ["publish/", "reject/", "withdraw/"])
def test_only_approvers_publish(desk: Desk, dataset: Dataset, action: str) -> None:
    page = f"/desk/releases/{desk.request(dataset).pk}/{action}"
    assert desk.signed_in("steward", role=Role.STEWARD).post(page).status_code == 404
