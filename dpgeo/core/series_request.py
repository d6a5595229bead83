"""The declaration of a series: its fields, and the rules for more than one field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Annotated, NamedTuple

from pydantic import Field

from dpgeo.core.declared import WHOLE, Day, Epsilon, Flag, Labels, Text
from dpgeo.core.errors import InvalidInput
from dpgeo.core.release_request import MAX_BOUND, MapRequest
from dpgeo.core.series import LAST_MONTH_DAY, Period, Protection
from dpgeo.phrases import Phrase, translatable

MAX_PERIODS = 1000
"""Largest number of consecutive periods in which the epsilon of a series may hide a person."""

EARLIEST = date(1970, 1, 1)
"""Earliest day on which a series may begin: every period since is drawn, even without rows."""


class SeriesRequest(MapRequest):
    """A series, as somebody declares it: a map for every period, drawn one after another."""

    mechanism: Text = Field(
        default="uniform-grid",
        title=translatable("Method"),
        description=translatable("The key of a mechanism."),
    )
    epsilon: Epsilon = Field(
        title=translatable("Privacy to spend, epsilon (ε)"),
        description=translatable(
            "What it protects with; at the dataset's delta, if its budget counts in rho."
        ),
    )
    title: Text = Field(
        title=translatable("Title"),
        description=translatable(
            "Public. Each map adds its days, such as Weekly visits, 2026-01-05 to …"
        ),
    )
    description: Text = Field(
        default="",
        title=translatable("Description"),
        description=translatable("Public. What a reader should know about it."),
    )
    period: Annotated[
        Period,
        Labels(
            {
                Period.DAY: translatable("Day"),
                Period.WEEK: translatable("Week"),
                Period.MONTH: translatable("Month"),
            }
        ),
    ] = Field(
        default=Period.WEEK,
        title=translatable("A map for each"),
        description=translatable("How long each map's days are."),
    )
    first_day: Day = Field(
        title=translatable("First day"), description=translatable("The first day of the first map.")
    )
    protection: Annotated[
        Protection,
        Labels(
            {
                Protection.PERSON: translatable("A person, over the whole series"),
                Protection.ALL: translatable("A person, in a declared number of maps"),
                Protection.ANY: translatable("A person, in any periods in a row"),
                Protection.ONE: translatable("A person, in any one period"),
            }
        ),
    ] = Field(
        default=Protection.PERSON,
        title=translatable("Whom epsilon hides"),
        description=translatable(
            "The first is paid once, however many maps follow; the others map by map. In a "
            "declared number of maps, nobody fades."
        ),
    )
    each: Annotated[int, Field(ge=1, le=MAX_BOUND), WHOLE] = Field(
        default=1,
        title=translatable("The most that one person adds to a map"),
        description=translatable("The contribution bound of each map."),
    )
    most: Annotated[int, Field(ge=1, le=MAX_BOUND), WHOLE] | None = Field(
        default=None,
        title=translatable("The most that one person adds to all maps"),
        description=translatable(
            "For a declared number of maps, or periods in a row: how many. Otherwise a person is "
            "not counted any more after that, so a series of the same people fades."
        ),
    )
    publish_when_done: Flag = Field(
        default=False,
        title=translatable("Publish each map when done"),
        description=translatable("Otherwise it waits as a draft that only members can see."),
    )
    all_files: Flag = Field(
        default=False,
        title=translatable("Make all files at publication"),
        description=translatable(
            "Otherwise each is made when somebody first asks for it, and then kept."
        ),
    )


class Rule(NamedTuple):
    """A field is refused with a message, which may name {each} and {most}, if `broken` holds."""

    field: str
    broken: Callable[[SeriesRequest], object]
    message: str


RULES = (
    Rule(
        "most",
        lambda asked: asked.most is None and asked.protection is not Protection.ONE,
        translatable("`most` is required unless `protection` is one."),
    ),
    Rule(
        "most",
        lambda asked: asked.protection is not Protection.PERSON and (asked.most or 1) > MAX_PERIODS,
        translatable("`most` must be from 1 to {most:,}."),
    ),
    Rule(
        "most",
        lambda asked: (
            asked.protection is Protection.PERSON and (asked.most or asked.each) < asked.each
        ),
        translatable("`most` must be at least {each:,}, the value of `each`."),
    ),
    Rule(
        "first_day",
        lambda asked: asked.period is Period.MONTH and asked.first_day.day > LAST_MONTH_DAY,
        translatable("`first_day` must be from the 1st to the 28th for monthly maps."),
    ),
    Rule(
        "first_day",
        lambda asked: asked.first_day < EARLIEST,
        translatable("`first_day` must be in 1970 or later."),
    ),
)
"""The rules for fields that depend on other fields."""


def broken_rules(asked: SeriesRequest) -> Iterator[InvalidInput]:
    """Yield an error for each rule that a declaration breaks, in the order of the rules."""
    for rule in RULES:
        if rule.broken(asked):
            phrase = Phrase(rule.message, each=asked.each, most=MAX_PERIODS)
            yield InvalidInput(phrase, field=rule.field)
