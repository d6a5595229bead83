"""What is asked of a dataset: one value, read once, from the request to the statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Bounding, Counting, Guarantee, Notion, Unit, guarantee
from dpgeo.core.parameters import parse_parameters, settle_layers
from dpgeo.core.released import Released
from dpgeo.datasets.layers import layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.mechanism import Mechanism
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea

MAX_BOUND = 100_000
"""Contributions of one person; more noise than this leaves nothing to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """What is to be drawn and what it costs; two are the same request where they are equal.

    `mechanism` is a key and `parameters` are all of its parameters, as they are stored. `epsilon`
    is in the mechanism's notion, and `bound` the contribution bound.
    """

    mechanism: str
    parameters: Mapping[str, object]
    epsilon: Fraction
    bound: int
    counting: Counting
    bounding: Bounding

    @property
    def definition(self) -> Mechanism:
        """The mechanism of its key. Raises InvalidInput for one that is gone."""
        return find_mechanism(self.mechanism)

    @property
    def params(self) -> Any:
        """The parameters as the mechanism takes them. Raises InvalidInput."""
        return parse_parameters(self.definition.params, self.parameters)

    def cost(self, unit: Unit) -> Guarantee:
        """What it costs and promises to each unit."""
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
    """Read what a form, a program or a command asks of a dataset.

    `epsilon` is None where the mechanism's parameters say what it costs. Raises InvalidInput that
    names the field.
    """
    chosen, unit = find_mechanism(mechanism), Unit(dataset.unit)
    params = read_parameters(dataset, chosen, parameters)
    limit = parse_bound(bound, unit)
    counted = settle_counting(chosen, counting, unit)
    kept = parse_bounding(bounding, unit, chosen)
    return ReleaseRequest(
        mechanism=chosen.key,
        parameters=asdict(params),
        epsilon=parse_cost(chosen, params, epsilon, limit, dataset.area),
        bound=limit,
        counting=counted,
        bounding=kept,
    )


def columns_of(request: ReleaseRequest) -> dict[str, Any]:
    """The columns of `Release` that hold a request, beside its cost in whole units."""
    return {
        "mechanism": request.mechanism,
        "parameters": dict(request.parameters),
        "bound": request.bound,
        "counting": request.counting.value,
        "bounding": request.bounding.value,
    }


def request_of(release: Release) -> ReleaseRequest:
    """The request that a release answers."""
    return ReleaseRequest(
        mechanism=release.mechanism,
        parameters=release.parameters,
        epsilon=release.epsilon,
        bound=release.bound,
        counting=Counting(release.counting),
        bounding=Bounding(release.bounding),
    )


def request_of_draw(released: Released, names: Mapping[str, object]) -> ReleaseRequest:
    """The request that a draw says it answers, as far as these parameters are concerned."""
    return ReleaseRequest(
        mechanism=released.mechanism,
        parameters={key: each for key, each in released.parameters.items() if key in names},
        epsilon=released.guarantee.epsilon,
        bound=released.bound,
        counting=released.counting,
        bounding=released.bounding,
    )


def read_parameters(
    dataset: Dataset, mechanism: Mechanism, parameters: Mapping[str, object]
) -> Any:
    """Parameters of a mechanism, the layers they name being the dataset's. Raises InvalidInput."""
    return settle_layers(parse_parameters(mechanism.params, parameters), layer_kinds(dataset))


def parse_cost(
    mechanism: Mechanism, params: Any, epsilon: str | Fraction | None, bound: int, area: StudyArea
) -> Fraction:
    """What a request costs: the epsilon asked for, or what the parameters say. Raises InvalidInput.

    Where the parameters say it, whatever was given as epsilon is passed over if it is empty and
    refused otherwise: a price nobody reads may not look like one.
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
    """The contribution bound. Raises InvalidInput."""
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
    """What is counted: records, whatever was asked, where they are moved. Raises InvalidInput."""
    if mechanism.notion is Notion.GEO_IND:
        return Counting.VISITS
    return parse_counting(value, unit)


def parse_bounding(value: str, unit: Unit, mechanism: Mechanism) -> Bounding:
    """Which of a person's places are kept. Raises InvalidInput, also where none can be chosen."""
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
    """What a cell counts. Raises InvalidInput, also for people where the data know none."""
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
