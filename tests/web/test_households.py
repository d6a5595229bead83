"""Protection of households of k people: each person gets epsilon/k, or rho/k^2.

Tested are the noise, the debit, and what the statement, pages, API and command say.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from jsonschema import Draft202012Validator

from dpgeo.artefacts.statement import statement
from dpgeo.artefacts.statement_schema import statement_schema
from dpgeo.artefacts.table import summary
from dpgeo.budgets.services import Accounting
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import GeoInd, PureDP, Unit
from dpgeo.core.guessing import right_guesses
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.release_request import MAX_HOUSEHOLD
from dpgeo.core.zcdp import epsilon_at, exponent_delta, nano_rho_for
from dpgeo.datasets.models import Dataset
from dpgeo.postprocess.layers import layers
from dpgeo.releases.requests import read_request
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_publish
from tests.makers import make_dataset, make_ready, make_release, quote_release
from tests.web.api import program_of
from tests.web.desk import Desk

pytestmark = pytest.mark.django_db

DELTA = exponent_delta(9)

ASKED: dict[str, Any] = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 8},
    "epsilon": "1",
    "bound": 5,
    "counting": "people",
    "totals": 0,
}


def make_paid(accounting: Accounting | None) -> Dataset:
    """Make a dataset with a budget of epsilon 3, in rho if `accounting` says so."""
    if accounting is None:
        return make_dataset(budget=Fraction(3))
    return make_dataset(budget=Fraction(3), accounting=accounting)


def test_noise_is_four_times_that_of_a_person_for_households_of_four(tmp_path: Path) -> None:
    dataset = make_dataset(budget=Fraction(3))
    make_ready(dataset, tmp_path)
    single, shared = (load_released(make_release(dataset, household=k)) for k in (1, 4))
    scales = []
    for released in (single, shared):
        [line] = released.trace
        assert isinstance(line.noise, DiscreteLaplace)
        scales.append(1 / line.noise.rate)
    assert scales == [5, 20]
    assert shared.guarantee == PureDP(Fraction(1, 4), Unit.PERSON)
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent == Fraction(5, 4)


def test_noise_in_rho_is_four_times_that_of_a_person_too(tmp_path: Path) -> None:
    dataset = make_dataset(budget=Fraction(3), accounting=Accounting(9, 3_000_000))
    make_ready(dataset, tmp_path)
    single, shared = (load_released(make_release(dataset, household=k)) for k in (1, 4))
    squares = []
    for released in (single, shared):
        [line] = released.trace
        assert isinstance(line.noise, DiscreteGaussian)
        squares.append(line.noise.square_scale)
    whole = nano_rho_for(Fraction(1), DELTA)
    assert shared.guarantee.amount == Fraction(whole // 16, 10**9)
    assert squares[1] / squares[0] == Fraction(whole, whole // 16) >= 16
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == whole + whole // 16


def test_a_pure_mechanism_in_rho_costs_a_sixteenth(tmp_path: Path) -> None:
    dataset = make_dataset(budget=Fraction(3), accounting=Accounting(9, 3_000_000))
    make_ready(dataset, tmp_path)
    make_release(dataset, mechanism="quadtree", parameters={}, epsilon="0.2", household=4)
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 20_000_000 // 16


@pytest.mark.parametrize("household", range(1, MAX_HOUSEHOLD + 1))
@pytest.mark.parametrize("accounting", [None, Accounting(9, 3_000_000)])
def test_a_household_never_loses_more_than_was_asked_for(
    accounting: Accounting | None, household: int
) -> None:
    dataset = make_paid(accounting)
    request = read_request(dataset, **ASKED, household=household)
    cost = request.cost(Unit.PERSON)
    assert request.of_household <= 1
    if accounting is None:
        assert request.of_household == 1
        assert 1 >= household * cost.epsilon > 1 - Fraction(household, 10**6)
    else:
        assert request.of_household == epsilon_at(household**2 * cost.amount, DELTA) > 0.999


@pytest.mark.parametrize("household", [0, -1, MAX_HOUSEHOLD + 1, "two"])
def test_households_of_no_size_are_refused(household: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_request(make_dataset(), **ASKED, household=household)
    assert refusal.value.field == "household"


def test_records_have_no_households() -> None:
    records = make_dataset(unit=Unit.RECORD)
    asked = {**ASKED, "bound": 1, "counting": "visits"}
    assert read_request(records, **asked, household=1).household == 1
    with pytest.raises(InvalidInput, match="`household` must be 1"):
        read_request(records, **asked, household=2)


def test_moved_points_protect_no_households() -> None:
    asked = {**ASKED, "mechanism": "planar-laplace", "parameters": {}, "epsilon": None}
    with pytest.raises(InvalidInput, match="`household` must be 1") as refusal:
        read_request(make_dataset(), **asked, household=2)
    assert refusal.value.field == "household"


def test_too_little_epsilon_is_not_divided() -> None:
    with pytest.raises(InvalidInput, match="divided among 2 people"):
        read_request(make_dataset(), **{**ASKED, "epsilon": "0.000001"}, household=2)


def test_a_quote_forecasts_the_noise_of_a_persons_part(tmp_path: Path) -> None:
    dataset = make_dataset(budget=Fraction(3))
    make_ready(dataset, tmp_path)
    quotes = [quote_release(dataset, **ASKED, household=k) for k in (1, 4)]
    assert [quote.price for quote in quotes] == [1_000_000, 250_000]
    noise = DiscreteLaplace(Fraction(1, 4), 5)
    assert quotes[1].forecast.noise == noise
    assert quotes[1].currencies is None or quotes[1].currencies.alone.epsilon == noise.margin()


@pytest.mark.parametrize("accounting", [None, Accounting(9, 3_000_000)])
def test_statement_and_page_promise_it_to_a_household(
    accounting: Accounting | None, tmp_path: Path, client: Client
) -> None:
    dataset = make_paid(accounting)
    make_ready(dataset, tmp_path)
    release = make_release(dataset, household=4)
    released = load_released(release)
    document = json.loads(json.dumps(statement(released)))
    document["files"] = [{"name": "map.bin", "media_type": "x", "size": 1, "sha256": "0" * 64}]
    document["files_on_request"] = []
    Draft202012Validator(statement_schema()).validate(document)
    stated = document["household"]
    assert not isinstance(released.guarantee, GeoInd)
    epsilon, delta = released.guarantee.of_changes(4)
    assert (stated["people"], Fraction(stated["epsilon"])) == (4, epsilon)
    assert stated["delta"] == ("1e-9" if accounting else "0")
    assert stated["right_guesses_in_100"] == right_guesses(epsilon, delta)
    assert stated["sentence"] in document["guarantee"]["sentence"]
    assert "household of up to 4 people who travel together" in stated["sentence"]
    release_publish(release=release, by=None)
    page = client.get(reverse("release-privacy", args=[release.pk])).content.decode()
    assert "A household of up to 4 people who travel together" in page
    assert "Whether such a household is in these data, all of them or none" in page
    assert "Households of up to 4 people, with all their rows" in page
    entry = dataset.ledger.entries.get(job=release.job_id)
    assert "per person of households of up to 4" in entry.what


def test_the_api_states_both_epsilons(desk: Desk) -> None:
    dataset = desk.declare(ready=True, budget=Fraction(3))
    program = program_of(desk)
    quote = f"/api/v1/datasets/{dataset.slug}/quote"
    priced = program.ask("POST", quote, {**ASKED, "household": 4})
    assert (priced["household"], priced["epsilon"]) == (4, "0.25")
    assert priced["epsilon_of_household"] == "1"
    refused = program.ask("POST", quote, {**ASKED, "household": 11}, status=400)
    assert "household" in str(refused)


def test_a_file_says_which_households_a_map_protects(tmp_path: Path) -> None:
    dataset = make_dataset(budget=Fraction(3))
    make_ready(dataset, tmp_path)
    shared, single = (load_released(make_release(dataset, household=k)) for k in (4, 1))
    stated = summary(shared, layers(shared)[0])
    assert (stated["household"], stated["epsilon"], stated["unit"]) == ("4", "0.25", "person")
    assert "household" not in summary(single, layers(single)[0])
