"""Release requests, parsed from a form, an API call or a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from dpgeo.budgets.models import Ledger
from dpgeo.core import bound_choice
from dpgeo.core.epsilon import MICRO, parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import (
    ZCDP,
    Bounding,
    Counting,
    GeoInd,
    Guarantee,
    Notion,
    Unit,
    from_units,
    guarantee,
    protected_at,
    whole_units,
)
from dpgeo.core.number_text import number_text
from dpgeo.core.parameters import parse_parameters, settle_layers
from dpgeo.core.released import Released
from dpgeo.core.totals import DEFAULT_PERCENT, DEFAULT_SIGHTINGS, DEFAULT_VISITS, TotalsPlan
from dpgeo.core.window import Window
from dpgeo.core.zcdp import delta_text, epsilon_at, exponent_of
from dpgeo.datasets.layers import layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.mechanism import Mechanism
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea

MAX_BOUND = 100_000
"""Largest contribution bound; with a larger one, hardly any count would stand out from the noise.
"""


MOST_HOUSEHOLD = 10
"""Largest household that a request can protect; beyond it, hardly any count would stand out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """A request for a release; requests with equal values are equal.

    `mechanism` is the mechanism's key, and `parameters` holds the values of all its
    parameters in the form in which they are stored. `epsilon` is per metre for
    geo-indistinguishability, and in all other cases that of one person; the epsilon of a household
    of up to `household` people together is `of_household`. If `rho` and `delta` are set, the
    mechanism adds Gaussian noise under zCDP, and `epsilon` is that of rho at delta. `bound` is the
    contribution bound; if `bound_percent` is above 0, this share of the cost in per cent pays for a
    private choice of the bound, which is then at most `bound`. `totals` is the plan for totals of
    all the data, or None if there are none. Only rows within `window` are counted; None counts all
    rows.
    """

    mechanism: str
    parameters: Mapping[str, object]
    epsilon: Fraction
    bound: int
    counting: Counting
    bounding: Bounding
    totals: TotalsPlan | None = None
    window: Window | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    household: int = 1
    bound_percent: int = 0

    @property
    def notion(self) -> Notion:
        """The release's notion of privacy: zCDP if it has a delta, else that of its mechanism."""
        return Notion.ZCDP if self.delta is not None else self.definition.notion

    @property
    def amount(self) -> Fraction:
        """What the mechanism spends: rho under zCDP, otherwise epsilon."""
        return self.epsilon if self.rho is None else self.rho

    @property
    def definition(self) -> Mechanism:
        """The request's mechanism. Raises InvalidInput if it no longer exists."""
        return find_mechanism(self.mechanism)

    @property
    def params(self) -> Any:
        """The parameters in the form that the mechanism expects.

        Raises InvalidInput for invalid values.
        """
        return parse_parameters(self.definition.params, self.parameters)

    def cost(self, unit: Unit) -> Guarantee:
        """Return the request's cost, expressed as the guarantee it gives each privacy unit."""
        return guarantee(self.notion, self.amount, unit, self.delta)

    @property
    def bought(self) -> str:
        """The name under which a ledger shows what was paid for: the mechanism, and any
        household size.
        """
        if self.household == 1:
            return self.mechanism
        return f"{self.mechanism}, per person of households of up to {self.household}"

    @property
    def of_household(self) -> Fraction:
        """The epsilon by which the persons of a household together are protected.

        Under zCDP it holds at `delta`. For perturbed points, which protect no households, it is
        `epsilon`, which is per metre.
        """
        cost = self.cost(Unit.PERSON)
        return cost.epsilon if isinstance(cost, GeoInd) else protected_at(cost, self.household)[0]


def read_request(
    dataset: Dataset,
    *,
    mechanism: str,
    parameters: Mapping[str, object],
    epsilon: str | Fraction | None,
    bound: int | str,
    counting: str,
    bounding: str = Bounding.RANDOM.value,
    totals: int | str | None = 0,
    most_sightings: int | str | None = None,
    most_visits: int | str | None = None,
    from_day: object = None,
    to_day: object = None,
    household: int | str | None = 1,
    choose_bound: int | str | None = 0,
    cost: Guarantee | None = None,
) -> ReleaseRequest:
    """Parse and validate a request for a release of a dataset.

    `epsilon` is None or empty if the mechanism's parameters determine the cost. If the dataset's
    budget counts in rho, and the mechanism can add Gaussian noise, it is an epsilon at the budget's
    delta, and the release costs the largest rho whose epsilon is at most that. Any other mechanism
    is run with `epsilon` as a pure epsilon. If `cost`, a guarantee that the mechanism can give to
    one person, is not None, it is used instead of `epsilon`.

    The epsilon protects a household of up to `household` people as if it were one person, so one
    person of it gets a share (`share_of`): the k-th part of an epsilon, or the k^2-th of a rho.

    `choose_bound` is the share of epsilon or rho, in per cent, that is spent on a private choice of
    the bound, of at most `bound`; with None, "" or 0, the bound is `bound`.

    `totals` is the share of epsilon or rho, in per cent, that is spent on totals of all the data;
    if it is None or empty, the default share is used (`usual_totals`). One person adds at most
    `most_sightings` and `most_visits` to the totals; if these are None or empty, defaults are used.
    With `from_day` and `to_day`, only rows from the first to the second of these days are counted.
    Raises InvalidInput, with the field at fault.
    """
    chosen, unit = find_mechanism(mechanism), Unit(dataset.unit)
    params = settle_layers(parse_parameters(chosen.params, parameters), layer_kinds(dataset))
    limit = parse_bound(bound, unit)
    counted = settle_counting(chosen, counting, unit)
    chosen_bounding = parse_bounding(bounding, unit, chosen)
    people = parse_household(household, unit, chosen)
    if cost is None:
        asked = parse_cost(chosen, params, epsilon, limit, dataset.area)
        rho = rho_for(dataset.ledger, chosen, asked, people)
        delta = None if rho is None else dataset.ledger.delta
    else:
        asked = cost.epsilon
        rho, delta = (cost.rho, cost.delta) if isinstance(cost, ZCDP) else (None, None)
    return ReleaseRequest(
        mechanism=chosen.key,
        parameters=asdict(params),
        epsilon=share_of(asked, people) if rho is None or delta is None else epsilon_at(rho, delta),
        rho=rho,
        delta=delta,
        bound=limit,
        counting=counted,
        bounding=chosen_bounding,
        totals=parse_totals(
            chosen,
            unit,
            counted,
            limit,
            totals=totals,
            most_sightings=most_sightings,
            most_visits=most_visits,
        ),
        window=parse_window(dataset, from_day, to_day),
        household=people,
        bound_percent=parse_choice(choose_bound, unit, chosen),
    )


def share_of(epsilon: Fraction, household: int) -> Fraction:
    """Return the epsilon of one person such that a household of k people has at most `epsilon`.

    k is `household`. The pure epsilons of k people add up, so that of one person is the k-th part,
    rounded down to a whole millionth. For a household of one it is all of `epsilon`, which may be
    per metre. Raises InvalidInput if nothing is left.
    """
    if household == 1:
        return epsilon
    share = Fraction(int(epsilon * MICRO) // household, MICRO)
    return _checked_share(share, household)


def _checked_share(share: Fraction, household: int) -> Fraction:
    if not share:
        raise InvalidInput(
            "So little epsilon cannot be divided among {household} people; give more.",
            household=household,
            field="epsilon",
        )
    return share


def rho_for(
    ledger: Ledger, mechanism: Mechanism, epsilon: Fraction, household: int = 1
) -> Fraction | None:
    """Return the largest rho of one person such that a household has at most an epsilon.

    The epsilon is meant at the ledger's delta. k people of rho each have k^2 rho together (Bun and
    Steinke 2016, proposition 1.9), so it is the k^2-th part of the largest rho of that epsilon,
    rounded down to a whole nano-rho.

    It is None if the map is paid for as a pure epsilon: if the ledger counts in epsilon, or the
    mechanism cannot add Gaussian noise. Raises InvalidInput if the rho would be 0.
    """
    rho = rho_of(ledger, epsilon) if Notion.ZCDP in mechanism.notions else None
    if rho is None:
        return None
    units = whole_units(Notion.ZCDP, rho)
    return _checked_share(from_units(Notion.ZCDP, units // household**2), household)


def rho_of(ledger: Ledger, epsilon: Fraction) -> Fraction | None:
    """Return the largest rho that amounts to at most `epsilon` at the ledger's delta.

    Returns None if the ledger has no delta, because it is not in rho. Raises InvalidInput if the
    rho would be 0.
    """
    if not ledger.is_zcdp:
        return None
    units = ledger.units_for(epsilon)
    if units == 0:
        raise InvalidInput(
            "Is too small at a delta of {delta}; give more.",
            delta=delta_text(ledger.delta or Fraction(1)),
            field="epsilon",
        )
    return from_units(Notion.ZCDP, units)


def cost_columns(cost: Guarantee) -> dict[str, Any]:
    """Return the columns of `Release` that store a cost, with their values."""
    return {
        "notion": cost.notion.value,
        "cost_units": whole_units(cost.notion, cost.amount),
        "delta_exponent": exponent_of(cost.delta) if isinstance(cost, ZCDP) else None,
    }


def columns_of(request: ReleaseRequest) -> dict[str, Any]:
    """Return the columns of `Release` that store a request, except its cost, with their values."""
    return {
        "mechanism": request.mechanism,
        "parameters": dict(request.parameters),
        "bound": request.bound,
        "counting": request.counting.value,
        "bounding": request.bounding.value,
        "totals": request.totals.to_json() if request.totals else None,
        "from_day": request.window.first if request.window else None,
        "to_day": request.window.last if request.window else None,
        "household": request.household,
        "bound_percent": request.bound_percent,
        "most_bound": request.bound if request.bound_percent else None,
    }


def request_of(release: Release) -> ReleaseRequest:
    """Return the request that a release stores."""
    return ReleaseRequest(
        mechanism=release.mechanism,
        parameters=release.parameters,
        epsilon=release.epsilon,
        rho=release.cost.amount if release.delta is not None else None,
        delta=release.delta,
        bound=release.most_bound or release.bound,
        counting=Counting(release.counting),
        bounding=Bounding(release.bounding),
        totals=TotalsPlan.from_json(release.totals) if release.totals else None,
        window=release.window,
        household=release.household,
        bound_percent=release.bound_percent,
    )


def request_of_draw(released: Released, names: Mapping[str, object]) -> ReleaseRequest:
    """Return the request stored with a draw, with only the parameters in `names`."""
    paid = released.guarantee
    return ReleaseRequest(
        mechanism=released.mechanism,
        parameters={key: each for key, each in released.parameters.items() if key in names},
        epsilon=paid.epsilon,
        rho=paid.rho if isinstance(paid, ZCDP) else None,
        delta=paid.delta if isinstance(paid, ZCDP) else None,
        bound=released.most_bound,
        counting=released.counting,
        bounding=released.bounding,
        totals=released.totals.plan(paid.amount) if released.totals else None,
        window=released.window,
        household=released.household,
        bound_percent=released.bound_percent,
    )


def parse_window(dataset: Dataset, first: object, last: object) -> Window | None:
    """Parse a window of time. Raises InvalidInput if the dataset has no times to compare."""
    window = Window.parse(first, last)
    if window and not has_times(dataset):
        raise InvalidInput(
            "The rows of this dataset have no time, so no days can be chosen; leave it out.",
            field="from_day",
        )
    return window


def has_times(dataset: Dataset) -> bool:
    """Return whether a time column is declared."""
    return bool((dataset.columns or {}).get("time"))


def parse_cost(
    mechanism: Mechanism, params: Any, epsilon: str | Fraction | None, bound: int, area: StudyArea
) -> Fraction:
    """Parse the epsilon, or compute it from the parameters if these determine the cost.

    In the latter case `epsilon` must be None or empty, because an ignored number would look
    like the cost. Raises InvalidInput.
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
    """Parse the contribution bound. Raises InvalidInput if it is invalid for the privacy unit."""
    try:
        bound = int(number_text(value))
    except ValueError:
        raise InvalidInput(
            "{value!r} is not a whole number; write it like 10.", value=value, field="bound"
        ) from None
    if not 1 <= bound <= MAX_BOUND:
        raise InvalidInput(
            "Must be from 1 to {most:,}: the most that one person adds to the map.",
            most=MAX_BOUND,
            field="bound",
        )
    if unit is Unit.RECORD and bound != 1:
        raise InvalidInput(
            "This dataset protects single records, each of which counts once; give 1.",
            field="bound",
        )
    return bound


def parse_household(value: int | str | None, unit: Unit, mechanism: Mechanism) -> int:
    """Parse the size of the households that are protected; 1 if the value is None or empty.

    Raises InvalidInput if it is out of its limits, or if it is more than 1 for a dataset or a
    mechanism that does not protect the presence of people.
    """
    people = _whole(value, "household", 1)
    if not 1 <= people <= MOST_HOUSEHOLD:
        raise InvalidInput(
            "Must be from 1 to {most}: the most people of a household.",
            most=MOST_HOUSEHOLD,
            field="household",
        )
    if people > 1 and unit is Unit.RECORD:
        raise InvalidInput(
            "This dataset protects single records and does not say whose they are, so no household "
            "can be protected; give 1.",
            field="household",
        )
    if people > 1 and mechanism.notion is Notion.GEO_IND:
        raise InvalidInput(
            "{key} hides where each report was made, whoever travels together; give 1, and a "
            "lower level to hide more.",
            key=mechanism.key,
            field="household",
        )
    return people


def parse_choice(value: int | str | None, unit: Unit, mechanism: Mechanism) -> int:
    """Parse the share of the cost, in per cent, for a private choice of the contribution bound.

    It is 0 if the value is None or empty. Raises InvalidInput if it is out of its limits, or if the
    bound cannot be chosen: if records are protected, or nothing is counted in public places.
    """
    percent = _whole(value, "choose_bound", 0)
    if percent == 0:
        return 0
    if not 1 <= percent <= bound_choice.MOST_PERCENT:
        raise InvalidInput(
            "Must be a whole number of per cent from 1 to {most}, or 0 to name the bound yourself.",
            most=bound_choice.MOST_PERCENT,
            field="choose_bound",
        )
    if unit is Unit.RECORD:
        raise InvalidInput(
            "This dataset protects single records, each of which counts once, so there is no bound "
            "to choose; give 0.",
            field="choose_bound",
        )
    if mechanism.counted is None:
        raise InvalidInput(
            "{key} does not count in public places; give 0.",
            key=mechanism.key,
            field="choose_bound",
        )
    return percent


def settle_counting(mechanism: Mechanism, value: str, unit: Unit) -> Counting:
    """Return what the release counts: distinct people or visits.

    Perturbed points always count visits, that is, records, whatever `value` is. For all
    other mechanisms, raises InvalidInput if `value` is unknown, or not possible for the
    privacy unit.
    """
    if mechanism.notion is Notion.GEO_IND:
        return Counting.VISITS
    return parse_counting(value, unit)


def parse_bounding(value: str, unit: Unit, mechanism: Mechanism) -> Bounding:
    """Parse the method of contribution bounding.

    Raises InvalidInput if the method is unknown, or not possible for the privacy unit or
    the mechanism.
    """
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


def usual_totals(mechanism: Mechanism, unit: Unit) -> int:
    """Return the default share of epsilon, or of rho, for totals, in per cent.

    It is 0 if the mechanism cannot release totals or the privacy unit is not a person.
    """
    sold = unit is Unit.PERSON and mechanism.counted is not None
    return DEFAULT_PERCENT if sold else 0


def parse_totals(
    mechanism: Mechanism,
    unit: Unit,
    counting: Counting,
    bound: int,
    *,
    totals: int | str | None,
    most_sightings: int | str | None,
    most_visits: int | str | None,
) -> TotalsPlan | None:
    """Return the plan for totals, or None if nothing is spent on them.

    In a total, at least as many contributions of a person must count as in the map itself. Raises
    InvalidInput, with the field at fault.
    """
    percent = _whole(totals, "totals", usual_totals(mechanism, unit))
    if percent == 0:
        return None
    if unit is Unit.RECORD:
        raise InvalidInput(
            "This dataset protects single records, all of which are counted: there is nothing to "
            "scale the map to; give 0.",
            field="totals",
        )
    if mechanism.counted is None:
        raise InvalidInput(
            "{key} does not count in public places; give 0.", key=mechanism.key, field="totals"
        )
    sightings = _whole(most_sightings, "most_sightings", max(DEFAULT_SIGHTINGS, bound))
    visits = _whole(most_visits, "most_visits", max(DEFAULT_VISITS, bound))
    people = counting is Counting.PEOPLE
    field, most = ("most_sightings", sightings) if people else ("most_visits", visits)
    if 1 <= most < bound:
        raise InvalidInput(
            "Must be at least {bound:,}, which one person may add to the map itself.",
            bound=bound,
            field=field,
        )
    return TotalsPlan(percent=percent, sightings=sightings, visits=visits)


def _whole(value: int | str | None, field: str, usual: int) -> int:
    """Parse a whole number, or return `usual` if the value is None or empty.

    Raises InvalidInput.
    """
    if value is None or value == "":
        return usual
    try:
        return int(number_text(value))
    except ValueError:
        raise InvalidInput(
            "{value!r} is not a whole number; write it like 10.", value=value, field=field
        ) from None


def parse_counting(value: str, unit: Unit) -> Counting:
    """Parse what the release counts: distinct people or visits.

    Raises InvalidInput if the value is unknown, or not possible for the privacy unit.
    """
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
