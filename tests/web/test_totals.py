"""Totals of a whole dataset: requested, paid for, stated, and used for scaling."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from jsonschema import Draft202012Validator

from dpgeo.artefacts.statement import statement
from dpgeo.artefacts.statement_schema import statement_schema
from dpgeo.core.counted import Counted
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting
from dpgeo.core.totals import TotalsPlan
from dpgeo.pages.release_summary import summarise
from dpgeo.privacy.totals import WEIGHTS
from dpgeo.releases.selectors import load_released
from tests.makers import make_dataset, make_ready, make_release, quote_release
from tests.noise import laplace
from tests.unit.artefacts.releases import grid_release
from tests.unit.postprocess.test_scaling import bought
from tests.web import published
from tests.web.api import REQUEST, program_of
from tests.web.desk import make_desk

pytestmark = pytest.mark.django_db

ASKED: dict[str, Any] = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 8},
    "epsilon": "1",
    "bound": 2,
    "counting": "people",
}


def test_a_release_with_totals_pays_for_them_once_and_states_them(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    release = make_release(dataset, **ASKED, totals=20, most_visits=50)
    assert release.request.totals_plan == TotalsPlan(percent=20, sightings=100, visits=50)
    assert release.epsilon == 1
    released = load_released(release)
    assert released.guarantee.epsilon == sum(line.amount for line in released.trace) == 1
    assert [line.label for line in released.trace] == [*WEIGHTS[Counting.PEOPLE], "cell counts"]
    assert released.trace[-1].epsilon == Fraction(4, 5)
    assert released.request == release.request

    document: Any = statement(released)
    schema = statement_schema()
    part = {**schema["properties"]["totals"], "$defs": schema["$defs"]}
    Draft202012Validator(part).validate(document["totals"])
    assert document["totals"]["epsilon"] == "0.2"
    assert document["totals"]["visits"]["most_of_one_person"] == 50
    assert document["totals"]["scaling"]["counted"] == "sightings"


def test_a_release_without_totals_says_nothing_of_them(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    released = load_released(make_release(dataset, **ASKED))
    assert released.totals is None
    document: Any = statement(released)
    assert "totals" not in document


def test_the_quote_forecasts_noise_without_the_share_of_totals() -> None:
    quote = quote_release(make_dataset(), **ASKED, totals="10", bounding="popular")
    assert quote.epsilon == 1
    assert laplace(quote.forecast.noise).epsilon == Fraction(81, 100)
    assert sum(spend.amount for spend in quote.plan) == 1


@pytest.mark.parametrize(
    ("changes", "field", "why"),
    [
        ({"totals": 60}, "totals", "from 0 to 50"),
        ({"totals": "ten"}, "totals", "not a whole number"),
        ({"totals": 10, "most_sightings": 1}, "most_sightings", "at least 2"),
        ({"totals": 10, "most_visits": 0}, "most_visits", "from 1 to"),
        (
            {"totals": 10, "mechanism": "private-clusters", "parameters": {}},
            "totals",
            "does not count in public places",
        ),
    ],
)
def test_impossible_totals_are_refused(changes: dict[str, Any], field: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refusal:
        quote_release(make_dataset(), **{**ASKED, **changes})
    assert refusal.value.field == field


def test_single_records_need_no_totals() -> None:
    records = {**ASKED, "counting": "visits", "bound": 1}
    dataset = make_dataset(unit="record")
    assert quote_release(dataset, **records, totals=None).request.totals_plan is None
    with pytest.raises(InvalidInput, match="`totals` must be 0"):
        quote_release(dataset, **records, totals=10)


def test_programs_ask_for_totals_and_read_scaled_answers() -> None:
    desk = make_desk()
    dataset, asks = desk.declare(ready=True), program_of(desk)
    address = f"/api/v1/datasets/{dataset.slug}/quote"
    quote = asks.ask("POST", address, {**REQUEST, "totals": 20})
    assert quote["totals"] == {"percent": 20, "most_sightings": 100, "most_visits": 400}
    assert [each["what"] for each in quote["plan"]][:3] == list(WEIGHTS[Counting.PEOPLE])
    assert asks.ask("POST", address, REQUEST)["totals"]["percent"] == 10
    assert asks.ask("POST", address, {**REQUEST, "totals": 0})["totals"] is None
    assert asks.ask("POST", address, {**REQUEST, "totals": 99}, 400)["field"] == "totals"

    release = make_release(dataset, desk.user, **ASKED, totals=10, publish_when_done=True)
    shown = asks.ask("GET", f"/api/v1/releases/{release.pk}")
    assert shown["totals"]["percent"] == 10
    box = ",".join(map(str, dataset.bounds))
    answers = asks.ask("GET", f"/api/v1/releases/{release.pk}/query?bbox={box}")
    assert answers["scaling"]["counted"] == "sightings"
    [answer] = answers["results"]
    if answers["scaling"]["factor"] is None:
        assert "Nothing is scaled" in answers["scaling"]["meaning"]
        assert answer["scaled"] is None
    else:
        assert answer["scaled"]["low"] <= answer["scaled"]["estimate"] <= answer["scaled"]["high"]


@pytest.mark.parametrize(
    ("people", "sightings", "shows", "scales"),
    [
        (30, 161, False, False),  # lost in the noise
        (30, 4_000, False, False),  # the noise leaves open whether the map leaves anything out
        (5_000, 4_000, True, False),
        (5_000, 900_000, True, True),
    ],
)
def test_a_total_is_shown_beside_the_maps_own_sum_only_if_it_says_more(
    people: int, sightings: int, shows: bool, scales: bool
) -> None:
    drawn = grid_release(bound=3)
    summary = summarise(drawn)
    assert summary.figures is not None
    assert summary.figures.counted is Counted.SIGHTINGS
    totals = bought(people, sightings, 1)
    cache.clear()
    release = published.install(
        published.make_dataset(),
        dataclasses.replace(drawn, totals=totals, counting=Counting.PEOPLE),
    )
    page = Client().get(f"/maps/{release.pk}/").content.decode()
    assert ("In all the data" in page) == shows
    assert ("Scaled to all" in page) == scales
    assert "lost in the noise" not in page
