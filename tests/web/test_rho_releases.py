"""Maps from a budget in rho: Gaussian noise or a pure epsilon, each paid for, stated and shown."""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Decimal
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
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.services import Accounting, ledger_set_total
from dpgeo.commands import restoration
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput
from dpgeo.core.guarantees import ZCDP, Notion, PureDP, Unit
from dpgeo.core.guessing import right_guesses
from dpgeo.core.levels import make_level
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.released import GridRelease
from dpgeo.core.zcdp import epsilon_at, exponent_delta, nano_rho_for
from dpgeo.datasets.dataset_budgets import dataset_share_budget
from dpgeo.datasets.decisions import decisions
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.promises import lifetime_limit
from dpgeo.datasets.services import dataset_update
from dpgeo.pages.desk.cost import bounds, protection
from dpgeo.pages.desk.map_form import DETAILS, ReleaseForm
from dpgeo.releases.currencies import Margins
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_cancel, release_publish
from tests.makers import make_dataset, make_ready, make_release, make_request, quote_release, spent
from tests.web.api import DECLARATION, program_of
from tests.web.desk import Desk

pytestmark = pytest.mark.django_db

DELTA = exponent_delta(9)

RHO = Accounting(delta_exponent=9, population=3_000_000)

ASKED: dict[str, Any] = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 8},
    "epsilon": "1",
    "bound": 5,
    "counting": "people",
}


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Make a dataset with data and a budget of epsilon 3, at a delta of 1e-9."""
    new = make_dataset(budget=Fraction(3), accounting=RHO)
    make_ready(new, tmp_path)
    return new


def test_a_map_with_gaussian_noise_costs_the_rho_of_its_epsilon(dataset: Dataset) -> None:
    release = make_release(dataset)
    assert release.job.state == "done"
    rho = nano_rho_for(Fraction(1), DELTA)
    assert (release.notion, release.cost_units, release.delta) == ("zcdp", rho, DELTA)
    assert spent(dataset) == rho
    released = load_released(release)
    assert released.guarantee == release.cost
    assert isinstance(released.guarantee, ZCDP)
    [line] = released.trace
    assert isinstance(line.noise, DiscreteGaussian)
    assert line.noise.squared_sensitivity == 5
    assert line.rho == released.guarantee.rho == line.noise.rho
    assert released.request == release.request


def test_a_map_in_rho_is_the_same_after_it_is_stored(dataset: Dataset) -> None:
    released = load_released(make_release(dataset))
    blob = encode(released)
    assert encode(decode(blob)) == blob
    assert decode(blob).guarantee == released.guarantee


def test_a_mechanism_without_gaussian_noise_is_paid_and_stated_as_pure(
    dataset: Dataset,
) -> None:
    release = make_release(dataset, mechanism="quadtree", parameters={}, epsilon="0.2")
    assert release.job.state == "done"
    assert spent(dataset) == 20_000_000
    assert isinstance(load_released(release).guarantee, PureDP)
    assert release.cost_words.startswith("epsilon 0.2, rho 0.02 (epsilon ")
    with pytest.raises(BudgetExceeded):
        make_request(dataset, mechanism="quadtree", parameters={}, epsilon="0.5")
    document = statement(load_released(release))
    assert document["guarantee"]["notion"] == "pure differential privacy"
    assert document["guarantee"]["delta"] == "0"
    whole: Any = document["dataset_guarantee"]
    assert whole["delta"] == "1e-9"
    assert "squared" in document["accounting"]


def test_the_epsilon_of_two_maps_is_that_of_their_rho(dataset: Dataset) -> None:
    for _ in range(2):
        make_request(dataset)
    both = Fraction(2 * nano_rho_for(Fraction(1), DELTA), 10**9)
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent == epsilon_at(both, DELTA) < 2


def test_a_cancelled_map_gives_its_rho_back(dataset: Dataset) -> None:
    release_cancel(release=make_request(dataset), by=None)
    assert spent(dataset) == 0


def test_a_quote_gives_both_the_rho_and_the_maps_that_remain(dataset: Dataset) -> None:
    quote = quote_release(dataset, **ASKED)
    total, each = dataset.ledger.total_units, nano_rho_for(Fraction(1), DELTA)
    assert quote.price == each
    assert quote.more_like_this == total // each - 1
    assert quote.cost_words.endswith("(epsilon 1 at delta 1e-9)")
    assert isinstance(quote.forecast.noise, DiscreteGaussian)


def test_totals_are_paid_with_a_share_of_rho_and_stated(dataset: Dataset) -> None:
    quote = quote_release(dataset, **ASKED, totals=None)
    assert quote.request.totals == 10
    assert isinstance(quote.forecast.noise, DiscreteGaussian)
    assert quote.forecast.noise.rho == quote.request.amount * Fraction(9, 10)
    release = make_release(dataset, **ASKED, totals=20, most_visits=50)
    assert spent(dataset) == release.cost_units == nano_rho_for(Fraction(1), DELTA)
    released = load_released(release)
    assert released.totals is not None
    assert released.request == release.request
    document: Any = json.loads(json.dumps(statement(released)))
    said = document["totals"]
    schema = statement_schema()
    part = {**schema["properties"]["totals"], "$defs": schema.get("$defs", {})}
    Draft202012Validator(part).validate(said)
    assert Fraction(said["rho"]) == released.guarantee.amount / 5
    assert "epsilon" not in said
    most = {"people": 1, "sightings": 100, "visits": 50}
    weights = {"people": Fraction(5), "sightings": Fraction(5, 3), "visits": Fraction(5)}
    for (name, share), spend in zip(weights.items(), document["spends"], strict=False):
        noise = DiscreteGaussian(released.guarantee.amount / 5 / share, most[name] ** 2)
        assert said[name]["most_of_one_person"] == most[name]
        assert said[name]["margin_95"] == spend["noise"]["margin_95"] == noise.margin()
        assert spend["noise"]["distribution"] == "discrete Gaussian"


def test_an_epsilon_of_less_than_one_nano_rho_is_refused(dataset: Dataset) -> None:
    with pytest.raises(InvalidInput) as refused:
        quote_release(dataset, **ASKED | {"epsilon": "0.000001"})
    assert refused.value.field == "epsilon"


def test_a_statement_gives_rho_delta_and_the_epsilon_of_all_rho(dataset: Dataset) -> None:
    released = load_released(make_release(dataset))
    document = json.loads(json.dumps(statement(released)))
    schema = statement_schema()
    for name in ("guarantee", "dataset_guarantee", "spends"):
        part = {**schema["properties"][name], "$defs": schema.get("$defs", {})}
        Draft202012Validator(part).validate(document[name])
    said, whole = document["guarantee"], document["dataset_guarantee"]
    assert said["notion"] == "zero-concentrated differential privacy"
    assert (said["delta"], whole["delta"]) == ("1e-9", "1e-9")
    assert Fraction(said["rho"]) == released.guarantee.amount
    assert Fraction(said["epsilon"]) == 1
    assert said["right_guesses_in_100"] == right_guesses(Fraction(1), DELTA) == 74
    assert Fraction(whole["rho"]) == Fraction(dataset.ledger.total_units, 10**9)
    assert Fraction(whole["epsilon"]) == dataset.ledger.total
    assert whole["presence_odds_factor"] is None
    [spend] = document["spends"]
    assert Fraction(spend["rho"]) == Fraction(said["rho"])
    assert spend["noise"]["distribution"] == "discrete Gaussian"
    assert "rho 0.0149" in document["citation"]


def test_the_page_of_a_map_in_rho_says_rho_delta_and_gaussian(
    dataset: Dataset, client: Client
) -> None:
    release = make_release(dataset)
    release_publish(release=release, by=None)
    page = client.get(reverse("release-privacy", args=[release.pk])).content.decode()
    assert "zero-concentrated" in page
    assert "1e-9" in page
    assert "Gaussian" in page
    assert "Laplace" not in page
    assert client.get(reverse("release", args=[release.pk])).status_code == 200


def test_all_maps_together_are_promised_with_delta(dataset: Dataset) -> None:
    lifetime = lifetime_limit(dataset)
    assert lifetime.delta == DELTA
    assert lifetime.counts.right == right_guesses(dataset.ledger.total, DELTA)


def test_a_published_total_in_rho_is_never_raised(dataset: Dataset) -> None:
    release_publish(release=make_release(dataset), by=None)
    with pytest.raises(Conflict):
        ledger_set_total(ledger=dataset.ledger, total=Fraction(4))


def test_the_currency_is_fixed_with_the_first_upload(tmp_path: Path) -> None:
    dataset = make_dataset(budget=Fraction(3))
    dataset_update(dataset=dataset, changes={"accounting": RHO})
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.is_zcdp
    make_ready(dataset, tmp_path)
    Dataset.objects.filter(pk=dataset.pk).update(frozen_at="2026-01-01T00:00Z")
    with pytest.raises(Conflict) as refused:
        dataset_update(dataset=dataset, changes={"accounting": Accounting()})
    assert refused.value.field == "accounting"
    # a budget that is in rho may be declared in rho again
    dataset_update(dataset=dataset, changes={"accounting": RHO})


def test_a_restore_repeats_the_last_currency_alone() -> None:
    dataset = make_dataset(budget=Fraction(3))
    for accounting in (RHO, Accounting(delta_exponent=12, population=3_000_000)):
        dataset_update(dataset=dataset, changes={"accounting": accounting})
    journal, ledger = list(decisions()), Ledger.objects.filter(pk=dataset.ledger_id)
    before = ledger.values().get()
    restoration._set_currencies(journal)
    assert ledger.values().get() == before
    ledger.update(delta_exponent=9)  # as in a backup made before the second change of currency
    restoration._set_currencies(journal)
    assert ledger.values().get() == {**before, "total_units": 0}


def test_a_budget_is_shared_in_one_currency_only(dataset: Dataset) -> None:
    facts = {"organisation": dataset.organisation, "budget": None}
    shared = make_dataset(ledger=dataset.ledger, **facts)
    assert shared.ledger.is_zcdp
    with pytest.raises(InvalidInput) as refused:
        make_dataset(ledger=dataset.ledger, accounting=Accounting(), **facts)
    assert refused.value.field == "accounting"
    larger = Accounting(delta_exponent=11, population=5_000_000_000)
    with pytest.raises(InvalidInput):
        make_dataset(ledger=dataset.ledger, accounting=larger, **facts)
    undecided = make_dataset(budget_later=True, accounting=larger, **facts)
    epsilon = make_dataset(organisation=dataset.organisation)
    with pytest.raises(Conflict):
        dataset_share_budget(dataset=undecided, ledger=epsilon.ledger)
    shared = dataset_share_budget(dataset=undecided, ledger=dataset.ledger)
    assert (shared.ledger.delta_exponent, shared.ledger.population) == (11, 5_000_000_000)
    assert shared.ledger.pk == dataset.ledger_id


def test_a_dataset_in_rho_has_no_budget_for_points() -> None:
    with pytest.raises(Conflict) as refused:
        make_dataset(accounting=RHO, points_budget=make_level("ln 4", 200))
    assert refused.value.field == "points_budget"


def test_a_dataset_in_rho_is_declared_through_the_api_and_its_document_says_so(desk: Desk) -> None:
    program = program_of(desk)
    body = DECLARATION | {"accounting": "zcdp", "population": 3_000_000, "budget": "1"}
    answer = program.ask("POST", "/api/v1/datasets", body, 201)
    total = answer["privacy"]["total_rho"]
    assert (total["delta"], total["epsilon"]) == ("1e-9", "1")
    assert Fraction(total["rho"]) == Fraction(nano_rho_for(Fraction(1), DELTA), 10**9)
    assert answer["privacy"]["presence_odds_factor"] is None
    [budget] = program.ask("GET", "/api/v1/budgets")["results"]
    assert budget["rho"]["left"] == total
    address = f"/api/v1/datasets/{answer['slug']}"
    assert program.ask("POST", f"{address}/quote", ASKED | {"epsilon": "0.5"}, 200)["rho"] == {
        "rho": str(Decimal(nano_rho_for(Fraction(1, 2), DELTA)).scaleb(-9).normalize()),
        "delta": "1e-9",
        "epsilon": "0.5",
    }


def margins(epsilon: Fraction, rho: Fraction, bound: int) -> Margins:
    return Margins(
        epsilon=DiscreteLaplace(epsilon, bound).margin(), rho=DiscreteGaussian(rho, bound).margin()
    )


@pytest.mark.parametrize("accounting", [Accounting(), RHO])
def test_a_quote_compares_both_currencies_while_one_can_be_chosen(accounting: Accounting) -> None:
    dataset = make_dataset(budget=Fraction(3), accounting=accounting)
    compared = quote_release(dataset, **ASKED | {"epsilon": "0.25"}, totals=0).currencies
    assert compared is not None
    quarter = Fraction(nano_rho_for(Fraction(1, 4), DELTA), 10**9)
    assert compared.alone == margins(Fraction(1, 4), quarter, 5)
    total = nano_rho_for(Fraction(3), DELTA)
    maps = 12 if accounting == Accounting() else total // nano_rho_for(Fraction(1, 4), DELTA)
    assert compared.maps == maps
    shared = Fraction(3_000_000 // maps, 10**6), Fraction(total // maps, 10**9)
    assert compared.each == margins(*shared, 5)
    assert compared.alone.better is Notion.PURE_DP
    assert compared.better is Notion.ZCDP
    assert str(compared.advice).startswith("Rho is better")


def test_a_mechanism_without_gaussian_noise_is_compared_by_what_rho_pays_for() -> None:
    dataset = make_dataset(budget=Fraction(1))
    asked = ASKED | {"mechanism": "quadtree", "parameters": {}, "epsilon": "0.5"}
    compared = quote_release(dataset, **asked, totals=0).currencies
    assert compared is not None
    assert compared.alone.better is None
    # A budget in rho would give each of two such maps, which have no Gaussian noise, only epsilon
    # 0.12 instead of 0.5.
    assert compared.better is Notion.PURE_DP


def test_the_desk_spends_a_share_of_the_rho(dataset: Dataset) -> None:
    for key, detail in DETAILS.items():
        share = detail.share
        chosen = ReleaseForm({"detail": key}, dataset=dataset)
        assert chosen.quote is not None
        request = chosen.quote.request
        assert request.delta is not None
        price = dataset.ledger.price(request.cost(Unit.PERSON))
        assert 0.75 * share * dataset.ledger.total_units < price
        assert price <= share * dataset.ledger.total_units
        figures = protection(chosen)
        left = dataset.ledger.epsilon_of(dataset.ledger.left_units - price)
        assert left - Fraction(1, 1000) < figures["after"] <= left
        assert (figures["after"] * 1000).denominator == 1


def test_gaussian_noise_grows_with_the_root_of_the_places(dataset: Dataset) -> None:
    factors = {number: factor for number, _, factor in bounds(ReleaseForm({}, dataset=dataset))}
    assert factors == {1: "1", 5: "2.3", 20: "4.5"}
    pure = ReleaseForm({}, dataset=make_dataset(slug="pure", budget=Fraction(3)))
    assert {number: factor for number, _, factor in bounds(pure)} == {1: "1", 5: "5", 20: "20"}


def monthly(folder: Path) -> Dataset:
    """Return a published year: twelve monthly maps that use up a budget of epsilon 3."""
    dataset = make_dataset(budget=Fraction(3), accounting=RHO)
    make_ready(dataset, folder)
    Dataset.objects.filter(pk=dataset.pk).update(columns={"time": "seen"})
    dataset.refresh_from_db()
    rho = dataset.ledger.total_units // 12
    # The cost of an epsilon is rounded up to whole units of the ledger. An epsilon that is a
    # millionth less than a twelfth of the budget is sure to fit twelve times.
    epsilon = epsilon_at(Fraction(rho, 10**9), DELTA) - Fraction(1, 10**6)
    for number in range(12):
        first = date(2026, number + 1, 1)
        last = date(2026, number + 2, 1) if number < 11 else date(2027, 1, 1)
        release = make_release(
            dataset,
            **ASKED | {"epsilon": epsilon, "bound": 20},
            title=f"Month {number + 1}",
            from_day=first.isoformat(),
            to_day=(last - timedelta(days=1)).isoformat(),
        )
        release_publish(release=release, by=None)
    dataset.ledger.refresh_from_db()
    return dataset


def test_a_year_of_monthly_maps_is_published_from_one_budget(
    tmp_path: Path, client: Client
) -> None:
    dataset = monthly(tmp_path)
    assert 0 <= dataset.ledger.left_units < dataset.ledger.total_units // 10_000
    with pytest.raises(BudgetExceeded):
        make_request(dataset, **ASKED | {"epsilon": "0.2"})
    newest = dataset.releases.get(title="Month 12")
    released = load_released(newest)
    assert isinstance(released.content, GridRelease)
    # With a twelfth of the epsilon, the margin would be 240; with a twelfth of the rho, noise is
    # only sqrt(12) times as large.
    assert released.content.noise.margin() == 62
    stated: Any = statement(released)
    assert stated["window"]["from_day"] == "2026-12-01"
    page = client.get(reverse("release", args=[newest.pk])).content.decode()
    assert "1e-9" in page
