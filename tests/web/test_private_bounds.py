"""A privately chosen contribution bound: requested, paid for, stored once, stated and shown."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from jsonschema import Draft202012Validator

from dpgeo.artefacts.codec import decode, encode
from dpgeo.artefacts.statement import statement
from dpgeo.artefacts.statement_schema import statement_schema
from dpgeo.budgets.services import Accounting
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.spend import Measured
from dpgeo.pages.desk.request_form import request_fields
from dpgeo.privacy.bound_choice import BOUND
from dpgeo.releases import release_job
from dpgeo.releases.models import Release
from dpgeo.releases.private_draw import stored_bound
from dpgeo.releases.requests import read_request
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_publish, release_run
from tests.makers import make_dataset, make_ready, make_release, make_request, quote_release
from tests.noise import laplace
from tests.web.api import program_of
from tests.web.desk import Desk

pytestmark = pytest.mark.django_db

ASKED: dict[str, Any] = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 8},
    "epsilon": "1",
    "bound": 20,
    "counting": "people",
    "totals": 0,
}


class Killed(BaseException):
    """An exception that stands for a worker being killed."""


@pytest.mark.parametrize("accounting", [None, Accounting(9, 3_000_000)])
def test_a_chosen_bound_is_paid_for_stated_and_shown(
    accounting: Accounting | None, tmp_path: Path, client: Client
) -> None:
    paid: dict[str, Any] = {} if accounting is None else {"accounting": accounting}
    dataset = make_dataset(budget=Fraction(3), **paid)
    make_ready(dataset, tmp_path)
    release = make_release(dataset, **ASKED, choose_bound=5)
    released = decode(encode(load_released(release)))
    choice = released.trace[0]
    assert (choice.label, choice.noise, choice.bound) == (BOUND, None, released.bound)
    assert choice.amount == released.guarantee.amount / 20
    assert sum(line.amount for line in released.trace) == released.guarantee.amount
    assert 1 <= released.bound <= 20
    assert released.bound == release.bound == release.drawn_bound
    assert (released.request.choose_bound, released.request.bound) == (5, 20)
    assert released.request == release.request
    again = request_fields(release.request)
    assert (again["bound"], again["choose_bound"]) == ("20", "5")

    document = json.loads(json.dumps(statement(released)))
    document["files"] = [{"name": "map.bin", "media_type": "x", "size": 1, "sha256": "0" * 64}]
    document["files_on_request"] = []
    Draft202012Validator(statement_schema()).validate(document)
    stated = document["bound_choice"]
    assert (stated["bound"], stated["most"], stated["quantile"]) == (released.bound, 20, 0.9)
    assert f"It is {released.bound}" in document["spends"][0]["meaning"]

    release_publish(release=release, by=None)
    page = client.get(reverse("release-privacy", args=[release.pk])).content.decode()
    assert f"how much of one person counts: at most {released.bound}." in page


def test_a_release_whose_request_names_the_bound_says_nothing_of_it(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    released = load_released(make_release(dataset, **ASKED))
    assert (released.bound, released.request.choose_bound) == (20, 0)
    assert "bound_choice" not in statement(released)


def test_a_trace_line_keeps_its_bound() -> None:
    line = Measured(label=BOUND, epsilon=Fraction(1), noise=None, bound=7)
    assert Measured.from_json(json.loads(json.dumps(line.to_json()))) == line


@pytest.mark.parametrize("step", ["store_draw", "commit_blob"])
def test_a_bound_is_drawn_once_however_often_a_worker_is_killed(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(budget=Fraction(3))
    make_ready(dataset, tmp_path)
    release = make_request(dataset, **ASKED, choose_bound=20)

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as killed:
        killed.setattr(release_job, step, die)
        with pytest.raises(Killed):
            release_run(release_id=release.pk)
    release.refresh_from_db()
    first = release.drawn_bound
    assert first is not None
    assert (release.blob_name, release.bound, release.shown_bound) == ("", 20, 20)
    # Store a bound other than the drawn one: the next attempt must use it, and not draw its own.
    other = 19 if step == "store_draw" else first
    Release.objects.filter(pk=release.pk).update(drawn_bound=other)
    release.job.refresh_from_db()
    assert stored_bound(release).drawn == other
    release_job.commit(release, release_job.draw(release, lease_of(release)))
    release.refresh_from_db()
    assert load_released(release).bound == release.bound == other


def lease_of(release: Release) -> Any:
    """Return a lease of a release's job that records nothing."""

    class Noting:
        unstored_draw = False

        def step(self, *_: object, **__: object) -> None: ...

        def set_drawing(self) -> None: ...

    return Noting()


def test_the_first_bound_that_is_stored_is_final(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    release = make_request(dataset, **ASKED, choose_bound=5)
    stored = stored_bound(release)
    assert stored.drawn is None
    assert stored.keep(3) == 3
    assert stored.keep(9) == 3
    assert stored_bound(release).drawn == 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"choose_bound": 21}, "from 0 to 20"),
        ({"choose_bound": -1}, "from 0 to 20"),
        ({"choose_bound": "few"}, "not a whole number"),
        (
            {"choose_bound": 5, "mechanism": "private-clusters", "parameters": {}},
            "does not count in public places",
        ),
    ],
)
def test_impossible_choices_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refusal:
        read_request(make_dataset(), **{**ASKED, **changes})
    assert refusal.value.field == "choose_bound"


def test_records_have_no_bound_to_choose() -> None:
    records = {**ASKED, "counting": "visits", "bound": 1}
    with pytest.raises(InvalidInput) as refusal:
        read_request(make_dataset(unit=Unit.RECORD), **records, choose_bound=5)
    assert refusal.value.field == "choose_bound"


def test_the_quote_forecasts_the_noise_of_the_largest_bound() -> None:
    quote = quote_release(make_dataset(), **{**ASKED, "totals": 10}, choose_bound=5)
    noise = laplace(quote.forecast.noise)
    assert (noise.epsilon, noise.sensitivity) == (Fraction(85, 100), 20)
    assert quote.plan[0].label == BOUND
    assert sum(spend.amount for spend in quote.plan) == 1


def test_the_api_shows_the_bound_from_publication_on(desk: Desk) -> None:
    dataset = desk.declare(ready=True, budget=Fraction(3))
    program = program_of(desk)
    priced = program.ask(
        "POST", f"/api/v1/datasets/{dataset.slug}/quote", {**ASKED, "choose_bound": 5}
    )
    assert (priced["bound"], priced["choose_bound"]) == (20, 5)
    release = make_release(dataset, desk.user, **ASKED, choose_bound=5)
    Release.objects.filter(pk=release.pk).update(bound=4)
    address = f"/api/v1/releases/{release.pk}"
    assert program.ask("GET", address)["bound"] == 20
    release_publish(release=release, by=None)
    document = program.ask("GET", address)
    assert (document["bound"], document["choose_bound"]) == (4, 5)
