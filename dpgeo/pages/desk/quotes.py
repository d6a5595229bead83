"""Quotes on the desk: cost and expected noise before any budget is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.forms import BooleanField

from dpgeo.artefacts.promises import of_household
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.epsilon import MICRO
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import GeoInd, Notion, PureDP
from dpgeo.core.noise import CountNoise, DiscreteGaussian, DiscreteLaplace, PlanarLaplace
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.desk.figures import chart_of, circles_of, mesh_of, outline_of
from dpgeo.pages.desk.rehearsal import rehearsal_of
from dpgeo.pages.desk.request_form import ReleaseForm
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Release
from dpgeo.releases.services import Quote, release_quote


@dataclass(frozen=True, slots=True)
class Alternative:
    """An epsilon for the quoted map, and the margin it gives; `chosen` marks the quoted epsilon."""

    epsilon: Fraction
    margin: int
    more: int
    chosen: bool


def quote_for(form: ReleaseForm) -> Quote | None:
    """Return the quote for a form's request, or None after showing the errors on the form."""
    if not form.is_valid():
        return None
    try:
        request = form.release_request()
        return release_quote(dataset=form.dataset, request=request, guess=form.guess)
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return None


def quote_context(dataset: Dataset, form: ReleaseForm) -> dict[str, Any]:
    """Return the template context of `desk/quote.html` for a form that may be incomplete."""
    data = {name: form[name].value() for name in form.fields}
    trial = ReleaseForm(data, dataset=dataset, publishes=False)
    trial.fields["title"].required = False
    quote = quote_for(trial)
    outline = outline_of(dataset.area)
    return {
        "quote": quote,
        "outline": outline,
        "mesh": mesh_of(dataset.area, outline, quote.forecast.ground_metres) if quote else None,
        "circles": circles_of(dataset.area, outline, quote.forecast.radii) if quote else None,
        "chart": chart_of(quote.advice, quote.request.bound) if quote and quote.advice else None,
        "rehearsal": rehearsal_of(dataset, quote) if quote else None,
        "alternatives": alternatives(quote) if quote else [],
        "problems": [] if quote else problems_of(trial),
        "left": dataset.ledger.left,
        "points": points_of(dataset, data.get("mechanism")),
        "counting": quote.request.counting.value if quote else "",
        "dataset": dataset,
        "household": promise_to_household(quote) if quote else (),
    }


def promise_to_household(quote: Quote) -> tuple[Phrase, ...]:
    """Return the sentence on a protected household; empty if the map protects single people."""
    return (
        () if isinstance(quote.cost, GeoInd) else of_household(quote.cost, quote.request.household)
    )


def points_of(dataset: Dataset, mechanism: object) -> Ledger | None:
    """Return the ledger for points if the chosen mechanism is charged to it, else None."""
    chosen = MECHANISMS.get(str(mechanism))
    moves = chosen is not None and chosen.notion is Notion.GEO_IND
    return points_ledger(dataset.ledger) if moves else None


def problems_of(form: ReleaseForm) -> list[tuple[str, str]]:
    """Return a (label, message) pair for every error, in the order of the fields."""
    return [
        (str(form[name].label) if name in form.fields else "", str(message))
        for name, messages in form.errors.items()
        for message in messages
    ]


def alternatives(quote: Quote) -> list[Alternative]:
    """Return the quoted map at half, the same and twice its epsilon, where the budget allows it."""
    quotes: list[Alternative] = []
    noise = quote.forecast.noise
    if isinstance(noise, PlanarLaplace) or quote.forecast.records:
        return quotes
    ledger = quote.ledger
    for factor in (Fraction(1, 2), Fraction(1), Fraction(2)):
        epsilon = quote.epsilon * factor
        if (epsilon * MICRO).denominator != 1:
            continue
        if isinstance(noise, DiscreteGaussian):
            price = quote.price if factor == 1 else max(ledger.units_for(epsilon), 1)
            scaled: CountNoise = DiscreteGaussian(
                noise.rho * price / quote.price, noise.squared_sensitivity
            )
        else:
            price = ledger.price(PureDP(epsilon, quote.cost.unit))
            scaled = DiscreteLaplace(noise.epsilon * factor, noise.sensitivity)
        if price <= quote.units_left:
            more = (quote.units_left - price) // price
            quotes.append(Alternative(epsilon, scaled.margin(), more, factor == 1))
    return quotes


def like(release: Release) -> dict[str, Any]:
    """Return form values that request another release with the settings of `release`."""
    asked: ReleaseRequest = release.request
    values = asked.model_dump(mode="json", exclude={"parameters"}, exclude_none=True)
    parameters = asked.parameters.items()
    return values | {f"{release.mechanism}.{name}": value for name, value in parameters}


def typed(form: ReleaseForm, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the submitted values as initial values, so that the form shows no errors.

    Browsers do not send unticked boxes, so missing boxes become False.
    """
    values = {name: data[name] for name in form.fields if name in data}
    boxes = [name for name, field in form.fields.items() if isinstance(field, BooleanField)]
    return values | {name: data.get(name, False) for name in boxes}
