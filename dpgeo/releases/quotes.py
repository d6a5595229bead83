"""Quotes for releases: cost and expected noise, from public inputs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import ledger_for, left_units
from dpgeo.budgets.services import check_decided, check_fits
from dpgeo.core.advice import Guess, best_bound, expected_error
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import (
    Guarantee,
    Notion,
    Unit,
    whole_units,
)
from dpgeo.core.noise import DiscreteLaplace, PlanarLaplace
from dpgeo.core.parameters import layers_named
from dpgeo.core.spend import Spend
from dpgeo.core.zcdp import nano_rho_for
from dpgeo.datasets.dataset_budgets import accounting_open
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.models import Dataset
from dpgeo.phrases import Phrase
from dpgeo.privacy.mechanism import (
    Forecast,
    Mechanism,
    checked_plan,
    forecast,
    spends_before_map,
)
from dpgeo.releases.currencies import (
    USUAL_DELTA,
    Currencies,
    Margins,
    requests_in_both,
    shares,
)
from dpgeo.releases.requests import PricedRequest, household_share
from dpgeo.spatial.ground_grid import input_step

MAX_CROWDED = 100_000
"""A count that hardly any cell or zone exceeds. Quotes warn if even this count would not stand out
from the noise.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Advice on the contribution bound, given an owner's estimates about the data (`Guess`).

    `best` is the best bound. `error` is the expected error with the requested bound, and
    `error_at_best` is the expected error with the best bound. `bounds` are about
    `MAX_ADVISED_BOUND` bounds from 1 to the estimated number of places per person, or beyond the
    best bound, and `errors` are the expected errors with these bounds. If `alike`, all regions are
    counted with the same noise, and the errors are root mean squares over all of them; otherwise,
    the errors are those of a busy region.
    """

    guess: Guess
    best: int
    error: float
    error_at_best: float
    bounds: tuple[int, ...]
    errors: tuple[float, ...]
    alike: bool


MAX_ADVISED_BOUND = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A valid request with its exact cost, the remaining budget and the expected noise.

    Epsilons are per metre for perturbed points. `units_left` is what is left of the budget before
    the request is paid for, in the ledger's units. `guess` holds the owner's estimates about the
    data; None if there are none. `currencies` compares epsilon and rho while the currency of the
    budget may still be changed; afterwards it is None.
    """

    request: PricedRequest
    mechanism: Mechanism
    params: Any
    plan: Sequence[Spend]
    forecast: Forecast
    ledger: Ledger
    cost: Guarantee
    units_left: int
    guess: Guess | None = None
    currencies: Currencies | None = None

    @property
    def advice(self) -> Advice | None:
        """Advice on the contribution bound; None for perturbed points or without `guess`."""
        noise = self.forecast.noise
        if self.guess is None or not isinstance(noise, DiscreteLaplace):
            return None
        epsilon, asked = float(noise.epsilon), self.request.bound
        regions = self.forecast.regions if self.forecast.alike else 1
        best = best_bound(self.guess, epsilon, regions)
        most = max(self.guess.records, 2 * best)
        candidates = {
            round(1 + (most - 1) * k / MAX_ADVISED_BOUND) for k in range(MAX_ADVISED_BOUND + 1)
        }
        bounds = tuple(sorted(candidates | {best, min(asked, most)}))
        return Advice(
            guess=self.guess,
            best=best,
            error=expected_error(self.guess, asked, epsilon, regions),
            error_at_best=expected_error(self.guess, best, epsilon, regions),
            bounds=bounds,
            errors=tuple(expected_error(self.guess, bound, epsilon, regions) for bound in bounds),
            alike=self.forecast.alike,
        )

    @property
    def warnings(self) -> list[Phrase]:
        """Warnings about this request, from public inputs and the owner's estimates alone."""
        least = self.forecast.stands_out_from
        warning = None if least is None else _warning(least, self.guess)
        if warning is None:
            return []
        return [Phrase("{warning} {remedy}", warning=warning, remedy=REMEDY)]

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the release; if it costs a rho, the epsilon of that rho at the delta."""
        return self.cost.epsilon

    @property
    def price(self) -> int:
        """What the request costs, in the ledger's units."""
        return self.ledger.price(self.cost)

    @property
    def left_after(self) -> Fraction:
        """What would be left of the budget after the request is paid for, as an epsilon."""
        return self.ledger.epsilon_of(self.units_left - self.price)

    @property
    def more_like_this(self) -> int:
        """How many further requests of this cost the budget allows."""
        return (self.units_left - self.price) // self.price

    @property
    def cost_words(self) -> str:
        """The cost in words, such as "epsilon 0.5" or "level ln 4 within 200 m".

        If the budget is in rho, they name both the epsilon and the rho.
        """
        words = self.ledger.words(self.price)
        if self.ledger.notion == self.cost.notion.value:
            return words
        return f"epsilon {format_epsilon(self.epsilon)}, {words}"

    def words(self, amount: Fraction) -> str:
        """Format an amount in words, in the request's epsilon, rho or level: "rho 0.015"."""
        if self.cost.notion is Notion.PURE_DP:
            return f"epsilon {format_epsilon(amount)}"
        if self.cost.notion is Notion.ZCDP:
            return f"rho {format_epsilon(amount)}"
        return self.ledger.words(whole_units(self.cost.notion, amount))

    @property
    def rest_before(self) -> str:
        """The largest epsilon, rho or level that can be requested now, as text."""
        return self.ledger.rest(self.units_left)

    @property
    def rest_after(self) -> str:
        """The largest epsilon, rho or level that could be requested after this request, as text."""
        return self.ledger.rest(self.units_left - self.price)


REMEDY = Phrase("Spend more epsilon, lower the bound, or count in larger areas.")


def _warning(least: int, guess: Guess | None) -> Phrase | None:
    """Return a warning if too few counts will stand out from the noise, otherwise None.

    `least` is the smallest count that stands out.
    """
    if guess is None:
        rare = Phrase(
            "Only counts from {least:,} stand out, which hardly any place has.", least=least
        )
        return rare if least > MAX_CROWDED else None
    if least > guess.people:
        return Phrase(
            "Nothing can stand out: that takes {least:,}, and you guess that there are {people:,} "
            "people in all.",
            least=least,
            people=guess.people,
        )
    if least > guess.busy:
        return Phrase(
            "Not even the busy place you guess would stand out: it counts some {busy:,.0f}, and "
            "standing out takes {least:,}.",
            busy=guess.busy,
            least=least,
        )
    return None


def release_quote(
    *,
    dataset: Dataset,
    request: PricedRequest,
    guess: Guess | None = None,
    refunds: bool = True,
    ledger: Ledger | None = None,
) -> Quote:
    """Return the quote of a request; nothing is reserved and no data are read.

    With `guess`, the owner's estimates about the data, which are public, the quote also gives
    advice on the contribution bound. Without `refunds`, as for API keys, refunded amounts count as
    spent. With `ledger`, the quote is for that budget, such as one with a total that is not stored
    yet. Raises InvalidInput, with the field at fault, BudgetExceeded, with the amounts, and, unless
    a `ledger` is given, Conflict for perturbed points while no total budget for counts has been
    set.
    """
    chosen, params = request.definition, request.params
    plan = checked_plan(
        chosen,
        params,
        request.amount,
        request.bounding,
        request.totals_plan,
        request.counting,
        delta=request.delta,
        bound_percent=request.choose_bound,
    )
    forecast = release_forecast(dataset=dataset, request=request)
    cost = request.cost(Unit(dataset.unit))
    payer = ledger or ledger_for(dataset.ledger, request.notion)
    if ledger is None:
        payer.refresh_from_db()
    _check_step(payer, forecast)
    check_fits(ledger=payer, cost=cost, refunds=refunds)
    if ledger is None:
        check_decided(dataset.ledger.lifetime_units)
    return Quote(
        request=request,
        mechanism=chosen,
        params=params,
        plan=plan,
        forecast=forecast,
        ledger=payer,
        cost=cost,
        units_left=left_units(payer, refunds=refunds),
        guess=guess,
        currencies=_currencies(dataset, request, payer, payer.price(cost)),
    )


def _currencies(
    dataset: Dataset, request: PricedRequest, ledger: Ledger, price: int
) -> Currencies | None:
    """Return the margins that this request's counts have with a budget in epsilon and in rho.

    Returns None for perturbed points, if the dataset can no longer change between epsilon and rho,
    or if the request has no margins.
    """
    if request.notion is Notion.GEO_IND or not accounting_open(dataset):
        return None
    delta, maps = ledger.delta or USUAL_DELTA, ledger.total_units // price
    if Notion.ZCDP in request.definition.notions:
        pair = requests_in_both(request, *_asked_in_both(request, delta), delta)
    else:
        # Without Gaussian noise, a request costs the same pure epsilon in either currency.
        pair = request, request
    alone = _margins(dataset, pair)
    each = _margins(dataset, requests_in_both(request, *shares(ledger, maps, delta), delta))
    if alone is None or each is None:
        return None
    return Currencies(delta=delta, maps=maps, alone=alone, each=each)


def _asked_in_both(request: PricedRequest, delta: Fraction) -> tuple[Fraction, int]:
    """Return what the request costs as the guarantee of one person: as an epsilon, and in nano-rho.

    If a household of k people is protected, these are the k-th part of the requested epsilon
    (`requests.household_share`), and the k^2-th part of the rho that amounts to that epsilon at
    delta.
    """
    asked, people = request.of_household, request.household
    rho = nano_rho_for(asked, delta)
    return (
        request.epsilon_of_person if people == 1 else household_share(asked, people)
    ), rho // people**2


def _margins(dataset: Dataset, both: tuple[PricedRequest, PricedRequest] | None) -> Margins | None:
    """Return the margins of two requests, in epsilon and in rho; None if either has no margin."""
    if both is None:
        return None
    try:
        epsilon, rho = (release_forecast(dataset=dataset, request=each).margin for each in both)
    except InvalidInput:
        return None
    return None if epsilon is None or rho is None else Margins(epsilon=epsilon, rho=rho)


def release_forecast(*, dataset: Dataset, request: PricedRequest) -> Forecast:
    """Forecast the noise of a request, even if it exceeds the budget. Raises InvalidInput.

    If the bound is chosen privately, it is the noise with the largest bound that may be chosen.
    """
    params = request.params
    _, rest = spends_before_map(
        request.amount,
        request.bounding,
        request.totals_plan,
        request.counting,
        request.choose_bound,
    )
    domain = domain_of(dataset, layers_named(params))
    return forecast(
        request.definition, params, rest, request.bound, domain, request.counting, request.notion
    )


def _check_step(ledger: Ledger, forecast: Forecast) -> None:
    """Raise InvalidInput if the request snaps positions to a coarser grid than the ledger allows.

    The level of geo-indistinguishability is promised for positions within the ledger's radius of
    each other. On a coarser grid, two positions within that radius could be many times as far apart
    after snapping, and the odds could change by more than promised.
    """
    radius, noise = ledger.radius, forecast.noise
    if radius is None or not isinstance(noise, PlanarLaplace):
        return
    if noise.input_step <= input_step(radius):
        return
    raise InvalidInput(
        "The budget for points holds within {radius:,} m, and a larger radius would need a "
        "coarser grid than that allows. Choose a radius of at most {radius:,} m.",
        radius=radius,
        field="radius",
    )
