"""Requests of releases (`core.release_request`), priced for a dataset and its budget."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

from pydantic import InstanceOf

from dpgeo.budgets.models import Ledger
from dpgeo.core.domain import LayerKind
from dpgeo.core.epsilon import MICRO, parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import (
    ZCDP,
    GeoInd,
    Guarantee,
    Notion,
    Unit,
    from_units,
    guarantee,
    protected_at,
    whole_units,
)
from dpgeo.core.parameters import layers_named, parameters, parse_parameters, settle_layers
from dpgeo.core.release_request import Basis, ReleaseRequest, broken_rules
from dpgeo.core.zcdp import delta_text, epsilon_at, exponent_for_delta
from dpgeo.datasets.layers import layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.mechanism import Mechanism
from dpgeo.releases.models import Release


class PricedRequest(ReleaseRequest):
    """A settled request of a dataset, with all of its mechanism's parameters, and what it costs.

    `amount` is what one person spends: a rho if there is a `delta`, otherwise an epsilon, which is
    per metre for geo-indistinguishability. With a delta, the mechanism adds Gaussian noise.
    """

    amount: InstanceOf[Fraction]
    delta: InstanceOf[Fraction] | None

    @property
    def notion(self) -> Notion:
        """The release's notion of privacy: zCDP if it has a delta, else that of its mechanism."""
        return Notion.ZCDP if self.delta is not None else self.definition.notion

    @property
    def epsilon_of_person(self) -> Fraction:
        """The epsilon of one person; if the request costs a rho, that of the rho at delta."""
        return self.amount if self.delta is None else epsilon_at(self.amount, self.delta)

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
        that of one person, which is per metre.
        """
        cost = self.cost(Unit.PERSON)
        return cost.epsilon if isinstance(cost, GeoInd) else protected_at(cost, self.household)[0]


def read_request(dataset: Dataset, **fields: object) -> PricedRequest:
    """Parse and price a request for a release of a dataset, given by the fields' names.

    Raises InvalidInput, with the field at fault.
    """
    return price_request(dataset, ReleaseRequest.read(fields))


def price_request(
    dataset: Dataset, asked: ReleaseRequest, *, cost: Guarantee | None = None
) -> PricedRequest:
    """Check a request for a release of a dataset, and price it.

    If the dataset's budget counts in rho, and the mechanism can add Gaussian noise, the epsilon is
    meant at the budget's delta, and the release costs the largest rho whose epsilon is at most
    that. Any other mechanism is run with it as a pure epsilon. If `cost`, a guarantee that the
    mechanism can give to one person, is not None, it is used instead of an epsilon.

    The epsilon protects a household of up to `household` people as if it were one person, so one
    person of it gets a share (`household_share`): the k-th part of an epsilon, or the k^2-th of a
    rho. Raises InvalidInput, with the field at fault.
    """
    mechanism = find_mechanism(asked.mechanism)
    params = settle_layers(
        parse_parameters(mechanism.params, asked.parameters), layer_kinds(dataset)
    )
    _check_regions(dataset, mechanism, params)
    basis = quote_basis(dataset, mechanism)
    settled = basis.settle(asked)
    for refusal in broken_rules(settled, basis):
        raise refusal
    amount, delta = _price(dataset, settled, mechanism, params) if cost is None else _amount(cost)
    facts = {**dict(settled), "parameters": asdict(params), "amount": amount, "delta": delta}
    return PricedRequest.model_construct(**facts)


def _check_regions(dataset: Dataset, mechanism: Mechanism, params: Any) -> None:
    """Raise InvalidInput unless rows that name regions are counted in just these regions.

    Such rows have no positions, so other regions would count them at their region's middle.
    """
    layer = (dataset.columns or {}).get("regions", "")
    if not layer or layers_named(params) == [layer]:
        return
    counts = [each.name for each in parameters(mechanism.params) if each.layer is LayerKind.ZONES]
    raise InvalidInput(
        "The rows of this dataset name zones of the layer {layer!r} and have no positions; choose "
        "the method zones, or another one that counts in that layer.",
        layer=layer,
        field=counts[0] if counts else "mechanism",
    )


def quote_basis(dataset: Dataset, mechanism: Mechanism) -> Basis:
    """Return what the rules for a request of a dataset and a mechanism depend on."""
    return Basis(Unit(dataset.unit), has_times(dataset), mechanism)


def _amount(cost: Guarantee) -> tuple[Fraction, Fraction | None]:
    return cost.amount, cost.delta if isinstance(cost, ZCDP) else None


def _price(
    dataset: Dataset, asked: ReleaseRequest, mechanism: Mechanism, params: Any
) -> tuple[Fraction, Fraction | None]:
    """Return what one person spends, and the delta if that is a rho."""
    if mechanism.price is not None:
        return mechanism.price(params, asked.bound, dataset.area), None
    epsilon = parse_epsilon("" if asked.epsilon is None else asked.epsilon)
    rho = rho_for(dataset.ledger, mechanism, epsilon, asked.household)
    if rho is None:
        return household_share(epsilon, asked.household), None
    return rho, dataset.ledger.delta


def household_share(epsilon: Fraction, household: int) -> Fraction:
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
    rho = ledger_rho(ledger, epsilon) if Notion.ZCDP in mechanism.notions else None
    if rho is None:
        return None
    units = whole_units(Notion.ZCDP, rho)
    return _checked_share(from_units(Notion.ZCDP, units // household**2), household)


def ledger_rho(ledger: Ledger, epsilon: Fraction) -> Fraction | None:
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
        "delta_exponent": exponent_for_delta(cost.delta) if isinstance(cost, ZCDP) else None,
    }


def columns_of(request: PricedRequest) -> dict[str, Any]:
    """Return the columns of `Release` that store a request, except its cost, with their values."""
    return {
        "mechanism": request.mechanism,
        "bound": request.bound,
        "request": request.part(ReleaseRequest),
    }


def stored_request(release: Release) -> PricedRequest:
    """Return the request that a release stores."""
    amount, delta = _amount(release.cost)
    facts = {**dict(release.request), "amount": amount, "delta": delta}
    return PricedRequest.model_construct(**facts)


def has_times(dataset: Dataset) -> bool:
    """Return whether a time column is declared."""
    return bool((dataset.columns or {}).get("time"))
