"""Quotes for releases: cost and expected noise, from public inputs alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import ledger_for
from dpgeo.budgets.services import check_fits
from dpgeo.core.advice import Guess, best_bound, expected_error
from dpgeo.core.epsilon import format_epsilon, parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import (
    Bounding,
    Counting,
    Guarantee,
    Notion,
    Unit,
    guarantee,
    whole_units,
)
from dpgeo.core.noise import DiscreteLaplace, PlanarLaplace
from dpgeo.core.parameters import layers_named, parse_parameters, settle_layers
from dpgeo.core.spend import Spend
from dpgeo.datasets.layers import domain_of, layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.phrases import Phrase
from dpgeo.privacy.bounding import split
from dpgeo.privacy.mechanism import Forecast, Mechanism, checked_plan
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ground_grid import grid_step

MAX_BOUND = 100_000
"""Largest contribution bound; with more noise than this nothing is visible."""


MOST_CROWDED = 100_000
"""If only counts above this stand out, hardly any place on earth has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The best contribution bound for guessed public numbers, and the expected errors.

    `errors` belong to bounds from 1 to the guessed places of a person, at most `MOST_ADVISED` of
    them.
    """

    guess: Guess
    best: int
    error: float
    error_at_best: float
    bounds: tuple[int, ...]
    errors: tuple[float, ...]


MOST_ADVISED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A valid request: its exact cost, what remains, and the expected noise.

    Epsilons are per metre for perturbed points; `amount` and `words` format them for people.
    """

    mechanism: Mechanism
    params: Any
    plan: Sequence[Spend]
    forecast: Forecast
    ledger: Ledger
    cost: Guarantee
    bound: int
    counting: Counting
    bounding: Bounding
    left_before: Fraction
    left_after: Fraction
    more_like_this: int
    guess: Guess | None = None

    @property
    def advice(self) -> Advice | None:
        """Return advice on the bound; None without a guess, or if nothing is counted."""
        noise = self.forecast.noise
        if self.guess is None or not isinstance(noise, DiscreteLaplace):
            return None
        epsilon, most = float(noise.epsilon), self.guess.records
        best = best_bound(self.guess, epsilon)
        candidates = {round(1 + (most - 1) * k / MOST_ADVISED) for k in range(MOST_ADVISED + 1)}
        bounds = tuple(sorted(candidates | {best}))
        return Advice(
            guess=self.guess,
            best=best,
            error=expected_error(self.guess, self.bound, epsilon),
            error_at_best=expected_error(self.guess, best, epsilon),
            bounds=bounds,
            errors=tuple(expected_error(self.guess, bound, epsilon) for bound in bounds),
        )

    @property
    def warnings(self) -> list[Phrase]:
        """Return reasons not to pay for this release, from public and guessed numbers alone."""
        least = self.forecast.stands_out_from
        warning = None if least is None else _warning(least, self.guess)
        if warning is None:
            return []
        return [Phrase("{warning} {remedy}", warning=warning, remedy=REMEDY)]

    @property
    def epsilon(self) -> Fraction:
        """Return the exact cost."""
        return self.cost.epsilon

    def amount(self, epsilon: Fraction) -> str:
        """Format an epsilon as a figure of the ledger: "0.5", or a level, "ln 4"."""
        if self.cost.notion is Notion.PURE_DP:
            return format_epsilon(epsilon)
        return self.ledger.amount(whole_units(self.cost.notion, epsilon))

    def rest(self, epsilon: Fraction) -> str:
        """Format what is left of the ledger as an amount that can be requested."""
        if self.cost.notion is Notion.PURE_DP:
            return format_epsilon(epsilon)
        return self.ledger.rest(whole_units(self.cost.notion, epsilon))

    def words(self, epsilon: Fraction) -> str:
        """Format an epsilon with its measure: "epsilon 0.5", "level ln 4 within 200 m"."""
        if self.cost.notion is Notion.PURE_DP:
            return f"epsilon {format_epsilon(epsilon)}"
        return self.ledger.words(whole_units(self.cost.notion, epsilon))


REMEDY = Phrase("Spend more epsilon, lower the bound, or count in larger areas.")


def _warning(least: int, guess: Guess | None) -> Phrase | None:
    """Choose the warning if only counts from `least` on stand out; None if none applies."""
    if guess is None:
        rare = Phrase(
            "Only counts from {least:,} stand out, which hardly any place has.", least=least
        )
        return rare if least > MOST_CROWDED else None
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
    mechanism: str,
    parameters: Mapping[str, object],
    epsilon: str | Fraction | None,
    bound: int | str,
    counting: str,
    bounding: str = Bounding.RANDOM.value,
    guess: Guess | None = None,
) -> Quote:
    """Validate and price a request; nothing is reserved and no data are read.

    `guess` holds guessed public numbers, for advice. Raises InvalidInput, which names the field,
    and BudgetExceeded with the numbers.
    """
    chosen = find_mechanism(mechanism)
    params = read_parameters(dataset, chosen, parameters)
    limit = parse_bound(bound, Unit(dataset.unit))
    kind = settle_counting(chosen, counting, Unit(dataset.unit))
    choice = parse_bounding(bounding, Unit(dataset.unit), chosen)
    price = parse_cost(chosen, params, epsilon, limit, dataset.area)
    plan = checked_plan(chosen, params, price, choice)
    _, rest = split(price, choice)
    forecast = chosen.forecast(params, rest, limit, domain_of(dataset, layers_named(params)))
    cost = guarantee(chosen.notion, price, Unit(dataset.unit))
    ledger = ledger_for(dataset.ledger, chosen.notion)
    ledger.refresh_from_db()
    _check_step(ledger, forecast)
    check_fits(ledger=ledger, cost=cost)
    left = ledger.left
    return Quote(
        mechanism=chosen,
        params=params,
        plan=plan,
        forecast=forecast,
        ledger=ledger,
        cost=cost,
        bound=limit,
        counting=kind,
        bounding=choice,
        left_before=left,
        left_after=left - price,
        more_like_this=int((left - price) / price),
        guess=guess,
    )


def _check_step(ledger: Ledger, forecast: Forecast) -> None:
    """Raise InvalidInput if points are snapped to a coarser grid than the radius allows.

    The snapped locations of a person who moves by the budget's radius could otherwise differ by
    many times that radius, and the statement on every page would promise too much.
    """
    radius, noise = ledger.radius, forecast.noise
    if radius is None or not isinstance(noise, PlanarLaplace) or noise.step <= grid_step(radius):
        return
    raise InvalidInput(
        "The budget for points is told within {radius:,} m, and for a larger radius points are "
        "put on a coarser grid than that allows. Choose a radius of at most {radius:,} m.",
        radius=radius,
        field="radius",
    )


def read_parameters(
    dataset: Dataset, mechanism: Mechanism, parameters: Mapping[str, object]
) -> Any:
    """Parse a mechanism's parameters and check the layers they name. Raises InvalidInput."""
    return settle_layers(parse_parameters(mechanism.params, parameters), layer_kinds(dataset))


def parse_cost(
    mechanism: Mechanism, params: Any, epsilon: str | Fraction | None, bound: int, area: StudyArea
) -> Fraction:
    """Return the requested epsilon, or the price of the parameters. Raises InvalidInput.

    If the parameters determine the price, an empty epsilon is ignored and any other is refused: an
    ignored number must not look like the price.
    """
    if mechanism.price is None:
        return parse_epsilon("" if epsilon is None else epsilon)
    if epsilon not in (None, ""):
        raise InvalidInput(
            "Leave this out: what {key} costs follows from its level and radius.",
            key=mechanism.key,
            field="epsilon",
        )
    return mechanism.price(params, bound, area)


def parse_bound(value: int | str, unit: Unit) -> int:
    """Parse the contribution bound. Raises InvalidInput."""
    try:
        bound = int(str(value).strip())
    except ValueError:
        raise InvalidInput(
            "{value!r} is not a whole number; write it like 10.", value=value, field="bound"
        ) from None
    if not 1 <= bound <= MAX_BOUND:
        raise InvalidInput(
            "Must be from 1 to {most:,}: how much of one person enters the map at most.",
            most=MAX_BOUND,
            field="bound",
        )
    if unit is Unit.RECORD and bound != 1:
        raise InvalidInput(
            "This dataset protects single records, each of which counts once; give 1.",
            field="bound",
        )
    return bound


def settle_counting(mechanism: Mechanism, value: str, unit: Unit) -> Counting:
    """Choose what is counted: always records if points are perturbed. Raises InvalidInput."""
    if mechanism.notion is Notion.GEO_IND:
        return Counting.VISITS
    return parse_counting(value, unit)


def parse_bounding(value: str, unit: Unit, mechanism: Mechanism) -> Bounding:
    """Parse the contribution bounding. Raises InvalidInput, also if the mechanism has no choice."""
    try:
        bounding = Bounding(str(value))
    except ValueError:
        raise InvalidInput(
            "{value!r} is not a way of choosing; give random or popular.",
            value=value,
            field="bounding",
        ) from None
    if bounding is Bounding.POPULAR and unit is Unit.RECORD:
        raise InvalidInput(
            "This dataset protects single records, among which there is nothing to choose; give "
            "random.",
            field="bounding",
        )
    if bounding is Bounding.POPULAR and mechanism.regions is None:
        raise InvalidInput(
            "{key} does not count in public places; give random.",
            key=mechanism.key,
            field="bounding",
        )
    return bounding


def parse_counting(value: str, unit: Unit) -> Counting:
    """Parse what a cell counts. Raises InvalidInput, also for persons if the unit is a record."""
    try:
        counting = Counting(str(value))
    except ValueError:
        raise InvalidInput(
            "{value!r} is not a way of counting; choose people or visits.",
            value=value,
            field="counting",
        ) from None
    if unit is Unit.RECORD and counting is Counting.PEOPLE:
        raise InvalidInput(
            "This dataset does not say which records are of one person, so people cannot be "
            "counted; give visits.",
            field="counting",
        )
    return counting
