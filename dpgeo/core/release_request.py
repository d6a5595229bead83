"""The request of a release: its fields, and the rules for more than one field.

Forms, the API, the commands, the stored row and every file state a request from these fields alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import Field

from dpgeo.core import bound_choice
from dpgeo.core.declared import WHOLE, Day, Declared, Epsilon, Labels, Members, Text
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Bounding, Counting, Notion, Unit
from dpgeo.core.totals import (
    DEFAULT_PERCENT,
    DEFAULT_SIGHTINGS,
    DEFAULT_VISITS,
    MAX_PERCENT,
    MAX_TOTAL_PER_PERSON,
    TotalsPlan,
)
from dpgeo.core.window import Window
from dpgeo.phrases import Phrase, translatable

MAX_BOUND = 100_000
"""Largest contribution bound; with a larger one, hardly any count would stand out from the noise.
"""

MAX_HOUSEHOLD = 10
"""Largest household that a request can protect; beyond it, hardly any count would stand out."""


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class MapRequest(Declared):
    """What a release and a series ask for alike: how each map is drawn."""

    mechanism: Text = Field(
        default="auto",
        title=translatable("Method"),
        description=translatable("The key of a mechanism."),
    )
    parameters: Members = Field(
        default={},
        title=translatable("Parameters"),
        description=translatable("The mechanism's parameters; absent ones take their defaults."),
        json_schema_extra={"additionalProperties": {"type": ["string", "integer", "boolean"]}},
    )
    epsilon: Epsilon | None = Field(
        default=None,
        title=translatable("Privacy to spend, epsilon (ε)"),
        description=translatable(
            "Smaller is more private and noisier. At most six decimals, which text keeps exact. "
            "Leave it out if the mechanism's parameters determine the cost."
        ),
    )
    counting: Annotated[
        Counting,
        Labels(
            {
                Counting.PEOPLE: translatable("People: each person once per place"),
                Counting.VISITS: translatable("Visits: every row"),
            }
        ),
    ] = Field(
        default=Counting.PEOPLE,
        title=translatable("What is counted"),
        description=translatable("By default people, or visits if single records are protected."),
        json_schema_extra=_without_default,
    )


class ReleaseRequest(MapRequest):
    """A request for a release, as somebody gives it; `settle` fills in what depends on the data's
    declaration. The epsilon is that of a whole household.
    """

    bound: Annotated[int, Field(ge=1, le=MAX_BOUND), WHOLE] = Field(
        default=1,
        title=translatable("Places in which one person may be counted"),
        description=translatable(
            "The contribution bound: the most places in which one person counts or, if visits are "
            "counted, the most rows of one person that count. A larger number keeps more of busy "
            "people and makes every count noisier."
        ),
    )
    bounding: Annotated[
        Bounding,
        Labels(
            {
                Bounding.RANDOM: translatable("Random ones: for maps of a whole area"),
                Bounding.POPULAR: translatable(
                    "The most popular ones: for rankings of busy places. A tenth of ε is spent on "
                    "finding them"
                ),
            }
        ),
    ] = Field(
        default=Bounding.RANDOM,
        title=translatable("Which places of a person are kept, if there are more"),
        description=translatable(
            "For the most popular ones, a tenth of epsilon is spent on noisy counts of all places."
        ),
    )
    totals: Annotated[int, Field(ge=0, le=MAX_PERCENT), WHOLE] | None = Field(
        default=None,
        title=translatable("Share of the cost for totals, in per cent"),
        description=translatable(
            "Totals of people, sightings and visits, to which the map can be scaled. By default 10 "
            "if persons are protected and counted in public places; 0 buys none."
        ),
    )
    most_sightings: Annotated[int, Field(ge=1, le=MAX_TOTAL_PER_PERSON), WHOLE] | None = Field(
        default=None,
        title=translatable("Sightings of one person in the total, at most"),
        description=translatable("By default 100, or the contribution bound if that is more."),
    )
    most_visits: Annotated[int, Field(ge=1, le=MAX_TOTAL_PER_PERSON), WHOLE] | None = Field(
        default=None,
        title=translatable("Visits of one person in the total, at most"),
        description=translatable("By default 400, or the contribution bound if that is more."),
    )
    from_day: Day | None = Field(
        default=None,
        title=translatable("Only rows from"),
        description=translatable(
            "Public. It costs as much as all rows, because one person may be in many months. "
            "Empty: all rows."
        ),
    )
    to_day: Day | None = Field(
        default=None,
        title=translatable("until"),
        description=translatable("The last day, which is included."),
    )
    choose_bound: Annotated[int, Field(ge=0, le=bound_choice.MAX_PERCENT), WHOLE] = Field(
        default=0,
        title=translatable("Share of the cost for choosing the contribution bound, in per cent"),
        description=translatable(
            "Chooses it privately, near the number that nine people in ten do not exceed, and at "
            "most the bound that is given, such as 200. It is published with the map. 0 uses the "
            "given bound."
        ),
    )
    household: Annotated[int, Field(ge=1, le=MAX_HOUSEHOLD), WHOLE] = Field(
        default=1,
        title=translatable("Protect households of up to so many people"),
        description=translatable(
            "People who travel together are then protected as one person would be. Each of them "
            "gets a share of the epsilon, so the map costs less and every figure has more noise: "
            "with 4 people, 4 times as much."
        ),
    )

    @property
    def window(self) -> Window | None:
        """The days whose rows are counted; None for all rows."""
        if self.from_day is None or self.to_day is None:
            return None
        return Window(self.from_day, self.to_day)

    @property
    def totals_plan(self) -> TotalsPlan | None:
        """The plan for totals of all the data of a settled request; None if it buys none."""
        if not (self.totals and self.most_sightings and self.most_visits):
            return None
        return TotalsPlan(
            percent=self.totals, sightings=self.most_sightings, visits=self.most_visits
        )

    def options(self) -> dict[str, str]:
        """Return as texts the options that differ from their defaults, by name.

        What every file states in words of its own is left out.
        """
        stated = {"mechanism", "parameters", "epsilon", "bound", "counting"}
        request = self.part(ReleaseRequest)
        options = request.model_dump(mode="json", exclude=stated, exclude_defaults=True)
        return {name: str(value) for name, value in options.items() if value}


@lru_cache(maxsize=1024)
def read_stored(text: str) -> ReleaseRequest:
    """Return the request that a release's files store as JSON."""
    return ReleaseRequest.model_validate_json(text)


class Facts(Protocol):
    """What the rules ask of a mechanism; None for what it does not have."""

    @property
    def key(self) -> str: ...
    @property
    def notion(self) -> Notion: ...
    @property
    def price(self) -> object: ...
    @property
    def regions(self) -> object: ...
    @property
    def counted(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Basis:
    """What a request is made of: the privacy unit, whether rows have times, and the mechanism."""

    unit: Unit
    times: bool
    mechanism: Facts

    @property
    def usual_totals(self) -> int:
        """The default share of the cost for totals, in per cent."""
        return 0 if records(self) or uncounted(self) else DEFAULT_PERCENT

    def settle(self, request: ReleaseRequest) -> ReleaseRequest:
        """Return a request with the defaults that depend on the dataset and the mechanism.

        Perturbed points always count visits, that is, records.
        """
        changes: dict[str, Any] = {}
        if moves(self) or ("counting" not in request.model_fields_set and records(self)):
            changes["counting"] = Counting.VISITS
        totals = self.usual_totals if request.totals is None else request.totals
        changes["totals"] = totals
        if totals:
            changes |= {
                "most_sightings": request.most_sightings or max(DEFAULT_SIGHTINGS, request.bound),
                "most_visits": request.most_visits or max(DEFAULT_VISITS, request.bound),
            }
        return request.model_copy(update=changes)


def always(_: Basis) -> bool:
    """Return True, as the condition of rules that depend on the request alone."""
    return True


def records(basis: Basis) -> bool:
    """Return whether the dataset protects single records."""
    return basis.unit is Unit.RECORD


def timeless(basis: Basis) -> bool:
    """Return whether the dataset's rows have no time."""
    return not basis.times


def moves(basis: Basis) -> bool:
    """Return whether the mechanism moves points, which hides no presence."""
    return basis.mechanism.notion is Notion.GEO_IND


def uncounted(basis: Basis) -> bool:
    """Return whether the mechanism does not count in public places."""
    return basis.mechanism.counted is None


class Rule(NamedTuple):
    """A field is refused if `when` holds for what the request is made of, and `broken` for the
    request itself. The message may name the {field}, the {value} it must have, {key} and {bound}.
    """

    field: str
    when: Callable[[Basis], bool]
    broken: Callable[[ReleaseRequest], object]
    message: str
    value: str = "0"


FOR_RECORDS = translatable("`{field}` must be {value} for record-level datasets.")
WITHOUT_REGIONS = translatable(
    "`{field}` must be {value} with {key}, which does not count in public places."
)
LESS_THAN_BOUND = translatable("`{field}` must be at least {bound:,}, the contribution bound.")
NEEDS_BOTH_DAYS = translatable("`{field}` is required with `{value}`.")

RULES = (
    Rule("bound", records, lambda asked: asked.bound > 1, FOR_RECORDS, "1"),
    Rule(
        "counting",
        records,
        lambda asked: asked.counting is Counting.PEOPLE,
        FOR_RECORDS,
        Counting.VISITS,
    ),
    Rule(
        "bounding",
        records,
        lambda asked: asked.bounding is Bounding.POPULAR,
        FOR_RECORDS,
        Bounding.RANDOM,
    ),
    Rule(
        "bounding",
        lambda basis: basis.mechanism.regions is None,
        lambda asked: asked.bounding is Bounding.POPULAR,
        WITHOUT_REGIONS,
        Bounding.RANDOM,
    ),
    Rule("household", records, lambda asked: asked.household > 1, FOR_RECORDS, "1"),
    Rule(
        "household",
        moves,
        lambda asked: asked.household > 1,
        translatable("`{field}` must be 1 with {key}, whose level protects each report."),
    ),
    Rule(
        "epsilon",
        lambda basis: basis.mechanism.price is not None,
        lambda asked: asked.epsilon is not None,
        translatable(
            "`{field}` is not allowed with {key}: its level and radius determine the cost."
        ),
    ),
    Rule("totals", records, lambda asked: asked.totals, FOR_RECORDS),
    Rule("totals", uncounted, lambda asked: asked.totals, WITHOUT_REGIONS),
    Rule(
        "most_sightings",
        always,
        lambda asked: asked.counting is Counting.PEOPLE and _is_less(asked, asked.most_sightings),
        LESS_THAN_BOUND,
    ),
    Rule(
        "most_visits",
        always,
        lambda asked: asked.counting is Counting.VISITS and _is_less(asked, asked.most_visits),
        LESS_THAN_BOUND,
    ),
    Rule(
        "from_day",
        always,
        lambda asked: asked.from_day is None and asked.to_day is not None,
        NEEDS_BOTH_DAYS,
        "to_day",
    ),
    Rule(
        "to_day",
        always,
        lambda asked: asked.to_day is None and asked.from_day is not None,
        NEEDS_BOTH_DAYS,
        "from_day",
    ),
    Rule(
        "to_day",
        always,
        lambda asked: asked.window is not None and asked.window.last < asked.window.first,
        translatable("`{field}` must not be before `from_day`."),
    ),
    Rule(
        "from_day",
        timeless,
        lambda asked: asked.window is not None,
        translatable("`{field}` is not allowed: the dataset has no times."),
    ),
    Rule("choose_bound", records, lambda asked: asked.choose_bound, FOR_RECORDS),
    Rule("choose_bound", uncounted, lambda asked: asked.choose_bound, WITHOUT_REGIONS),
)
"""The rules for fields that depend on other fields, on the dataset or on the mechanism."""


def pointless(unit: Unit, *, times: bool) -> set[str]:
    """Return the fields with which nothing can be chosen for a dataset, whatever the mechanism."""
    of_records = {rule.field for rule in RULES if rule.when is records} | {
        "most_sightings",
        "most_visits",
    }
    without_records = set() if unit is Unit.PERSON else of_records
    return without_records | (set() if times else {"from_day", "to_day"})


def _is_less(asked: ReleaseRequest, most: int | None) -> bool:
    return bool(asked.totals and most and most < asked.bound)


def broken_rules(request: ReleaseRequest, basis: Basis) -> Iterator[InvalidInput]:
    """Yield an error for each rule that a settled request breaks, in the order of the rules."""
    for rule in RULES:
        if rule.when(basis) and rule.broken(request):
            facts = {"field": rule.field, "value": rule.value, "key": basis.mechanism.key}
            phrase = Phrase(rule.message, **facts, bound=request.bound)
            yield InvalidInput(phrase, field=rule.field)
