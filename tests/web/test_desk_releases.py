"""Releases on the owners' pages: quoted, confirmed, paid for once, published, withdrawn."""

from __future__ import annotations

import html
import json
import re

import pytest

from dpgeo.accounts.models import Role
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.models import Job
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


def asked(**changes: str) -> dict[str, str]:
    """Return the form data of a person who requests a release."""
    typed = {
        "title": "Evenings of May",
        "description": "Nobody was there.",
        "mechanism": "uniform-grid",
        "uniform-grid.cells": "8",
        "epsilon": "0.5",
        "counting": "people",
        "bound": "3",
        "step": "review",
    }
    return typed | changes


def address(dataset: Dataset) -> str:
    """Return the URL of the page for requesting releases of a dataset."""
    return f"/desk/datasets/{dataset.slug}/release/"


def receipt(desk: Desk, dataset: Dataset, **changes: str) -> dict[str, str]:
    """Request a quote, and return the form data that its button posts to pay for the release."""
    page = desk.client.post(address(dataset), asked(**changes)).content.decode()
    hidden = re.findall(r'<input type="hidden" name="([^"]+)"(?: value="([^"]*)")?', page)
    return {name: value for name, value in hidden if name != "csrfmiddlewaretoken"} | {
        "step": "spend"
    }


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("title", "", "This field is required."),
        ("epsilon", "0", "greater than zero"),
        ("epsilon", "0.1234567", "six decimals"),
        ("epsilon", "half", "is not a number"),
        ("epsilon", "2.5", "of 2 is left"),
        ("bound", "0", "from 1 to 100,000"),
        ("bound", "some", "whole number"),
        ("bound", "\u0661", "whole number"),
        ("mechanism", "magic", "not one of the available choices"),
        ("uniform-grid.cells", "1000000000", "from 1 to 4096"),
    ],
)
@pytest.mark.parametrize("step", ["review", "spend"])
def test_it_shows_errors_at_their_fields_and_spends_nothing(
    desk: Desk, dataset: Dataset, field: str, value: str, message: str, step: str
) -> None:
    typed = receipt(desk, dataset) | asked(**{field: value, "step": step})
    answer = desk.client.post(address(dataset), typed)
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert message in str(errors[field])
    page = answer.content.decode()
    assert "Nobody was there." in page
    if value and field not in {"counting", "mechanism"}:
        assert f'value="{value}"' in page
    assert spent(dataset) == 0
    assert not Release.objects.exists()


def test_it_asks_for_confirmation_before_spending(desk: Desk, dataset: Dataset) -> None:
    page = desk.client.post(address(dataset), asked()).content.decode()
    assert "Spend 0.5 and make the map" in page
    assert "Left after" in page
    assert ">1.5<" in page
    assert spent(dataset) == 0
    assert not Job.objects.filter(task="releases.run").exists()


def test_a_confirmation_sent_repeatedly_is_paid_once(desk: Desk, dataset: Dataset) -> None:
    sent = receipt(desk, dataset)
    answers = [desk.client.post(address(dataset), sent) for _ in range(3)]
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
    sent = receipt(desk, dataset)
    colleague = desk.signed_in("colleague", role=Role.STEWARD)
    for token in (sent["token"], "", "nonsense"):
        answer = colleague.post(address(dataset), sent | {"token": token})
        assert answer.status_code == 422
        assert "confirm it" in answer.content.decode()
    assert spent(dataset) == 0


def test_a_confirmation_for_another_dataset_is_refused(desk: Desk, dataset: Dataset) -> None:
    other = desk.declare(ready=True, title="Other")
    assert desk.client.post(address(other), receipt(desk, dataset)).status_code == 422
    assert spent(other) == 0


def test_a_confirmation_beyond_the_present_budget_is_refused(desk: Desk, dataset: Dataset) -> None:
    sent = receipt(desk, dataset, epsilon="1.5")
    desk.request(dataset, epsilon="1")
    answer = desk.client.post(address(dataset), sent)
    assert answer.status_code == 422
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
