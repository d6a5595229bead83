"""Release requests, as parsed from a form, an API call or a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Bounding, Counting, Guarantee, Notion, Unit, guarantee
from dpgeo.core.number_text import number_text
from dpgeo.core.parameters import parse_parameters, settle_layers
from dpgeo.core.released import Released
from dpgeo.datasets.layers import layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import current_parameters, find_mechanism
from dpgeo.privacy.mechanism import Mechanism
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea

MAX_BOUND = 100_000
"""Largest contribution bound; with a larger one, noise would hide everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """A request for a release; requests with equal values are equal.

    `mechanism` is the mechanism's key, and `parameters` are the values of all its parameters as
    stored. `epsilon` is per metre for geo-indistinguishability. `bound` is the contribution bound.
    """

    mechanism: str
    parameters: Mapping[str, object]
    epsilon: Fraction
    bound: int
    counting: Counting
    bounding: Bounding

    @property
    def definition(self) -> Mechanism:
        """The request's mechanism. Raises InvalidInput if it no longer exists."""
        return find_mechanism(self.mechanism)

    @property
    def params(self) -> Any:
        """The parameters as the mechanism takes them. Raises InvalidInput for invalid values."""
        return parse_parameters(self.definition.params, self.parameters)

    def cost(self, unit: Unit) -> Guarantee:
        """Return the cost of the request, which is its guarantee to each privacy unit."""
        return guarantee(self.definition.notion, self.epsilon, unit)


def read_request(
    dataset: Dataset,
    *,
    mechanism: str,
    parameters: Mapping[str, object],
    epsilon: str | Fraction | None,
    bound: int | str,
    counting: str,
    bounding: str = Bounding.RANDOM.value,
) -> ReleaseRequest:
    """Parse and validate a request for a release of a dataset.

    `epsilon` is None or empty if the mechanism's parameters determine the cost. Raises
    InvalidInput, with the field at fault.
    """
    chosen, unit = find_mechanism(mechanism), Unit(dataset.unit)
    params = settle_layers(parse_parameters(chosen.params, parameters), layer_kinds(dataset))
    limit = parse_bound(bound, unit)
    counted = settle_counting(chosen, counting, unit)
    chosen_bounding = parse_bounding(bounding, unit, chosen)
    return ReleaseRequest(
        mechanism=chosen.key,
        parameters=asdict(params),
        epsilon=parse_cost(chosen, params, epsilon, limit, dataset.area),
        bound=limit,
        counting=counted,
        bounding=chosen_bounding,
    )


def columns_of(request: ReleaseRequest) -> dict[str, Any]:
    """Return the values of the columns of `Release` that store a request, except its cost."""
    return {
        "mechanism": request.mechanism,
        "parameters": dict(request.parameters),
        "bound": request.bound,
        "counting": request.counting.value,
        "bounding": request.bounding.value,
    }


def request_of(release: Release) -> ReleaseRequest:
    """Return a release's request, with parameters under their current names."""
    return ReleaseRequest(
        mechanism=release.mechanism,
        parameters=current_parameters(release.mechanism, release.parameters),
        epsilon=release.epsilon,
        bound=release.bound,
        counting=Counting(release.counting),
        bounding=Bounding(release.bounding),
    )


def request_of_draw(released: Released, names: Mapping[str, object]) -> ReleaseRequest:
    """Return the request stated in a draw, restricted to the parameters in `names`."""
    drawn = current_parameters(released.mechanism, released.parameters)
    parameters = current_parameters(released.mechanism, names)
    return ReleaseRequest(
        mechanism=released.mechanism,
        parameters={key: each for key, each in drawn.items() if key in parameters},
        epsilon=released.guarantee.epsilon,
        bound=released.bound,
        counting=released.counting,
        bounding=released.bounding,
    )


def parse_cost(
    mechanism: Mechanism, params: Any, epsilon: str | Fraction | None, bound: int, area: StudyArea
) -> Fraction:
    """Parse the epsilon, or compute it from the parameters if these determine the cost.

    In the latter case `epsilon` must be None or empty: a number that is ignored would look like the
    cost. Raises InvalidInput.
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
    """Parse the contribution bound. Raises InvalidInput if it is not valid for the unit."""
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


def settle_counting(mechanism: Mechanism, value: str, unit: Unit) -> Counting:
    """Return what is counted; for perturbed points it is always visits, that is records.

    Raises InvalidInput for any other invalid value.
    """
    if mechanism.notion is Notion.GEO_IND:
        return Counting.VISITS
    return parse_counting(value, unit)


def parse_bounding(value: str, unit: Unit, mechanism: Mechanism) -> Bounding:
    """Parse the method of contribution bounding.

    Raises InvalidInput if it is unknown, or not possible for the unit or the mechanism.
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


def parse_counting(value: str, unit: Unit) -> Counting:
    """Parse what is counted. Raises InvalidInput if it is unknown, or not possible for the unit."""
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
