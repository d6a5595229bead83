"""Descriptions of the features of layers: how maps draw them and what pages call them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from dpgeo.phrases import translatable


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Description of the features of a layer.

    `look` is the key of the features' renderer in `frontend/src/layers/registry.ts`. `counts` is
    true if the features' values are counts that can be added up; the texts below are used only
    then. `one` is the heading of the column with the features' names, and `largest` the heading of
    the list of the features with the largest counts. `standing` is a sentence on how many features
    stand out from the noise. `between` is a sentence on the number of people in a sum, used if a
    person may be counted in several features. `once` says whether a person is counted at most once
    in a feature, and `trips` whether trips are counted instead of people or rows at a place.
    """

    look: str
    counts: bool = False
    one: str = ""
    largest: str = ""
    standing: str = ""
    between: str = ""
    once: bool = True
    trips: bool = False


CELLS = Features(
    look="heatmap",
    counts=True,
    standing=translatable("{standing} of {size} squares show clearly."),
    between=translatable(
        "People were not counted themselves: they are at least {low} and at most {high}, as "
        "each counts once in each of up to {bound} squares."
    ),
)

ZONES = Features(
    look="zones",
    counts=True,
    one=translatable("Zone"),
    largest=translatable("The largest zones"),
    standing=translatable("{standing} of {size} zones show clearly."),
    between=translatable(
        "People were not counted themselves: they are at least {low} and at most {high}, as "
        "each counts once in each of up to {bound} zones."
    ),
)

CLUSTERS = Features(
    look="clusters",
    counts=True,
    one=translatable("Gathering place"),
    largest=translatable("The largest gathering places"),
    standing=translatable("{standing} of {size} gathering places show clearly."),
    between=translatable(
        "People were not counted themselves: they are at least {low} and at most {high}, as "
        "each counts once in each of up to {bound} small squares."
    ),
    once=False,
)

PLACES = Features(
    look="places",
    counts=True,
    one=translatable("Place"),
    largest=translatable("The busiest places"),
    standing=translatable("{standing} of {size} places show clearly."),
    between=translatable(
        "People were not counted themselves: they are at least {low} and at most {high}, as "
        "each counts once at each of up to {bound} places."
    ),
)

HOURS = Features(
    look="points",
    counts=True,
    one=translatable("Time"),
    largest=translatable("The fullest times"),
    standing=translatable("{standing} of {size} times show clearly."),
    between=translatable(
        "People were not counted themselves: they are at least {low} and at most {high}, as "
        "each counts once in each of up to {bound} times."
    ),
)

CONTOURS = Features(look="contours")

AVERAGES = Features(look="averages")

QUARTILES = Features(look="quartiles")

DEPARTURES = Features(
    look="departures",
    counts=True,
    one=translatable("Region"),
    largest=translatable("Where most trips begin"),
    standing=translatable("{standing} of {size} regions show clearly."),
    between=translatable(
        "People were not counted themselves: they are at least {low} and at most {high}, as "
        "up to {bound} trips of each are counted."
    ),
    once=False,
    trips=True,
)

ARRIVALS = Features(
    look="arrivals",
    counts=True,
    one=translatable("Region"),
    largest=translatable("Where most trips end"),
    standing=translatable("{standing} of {size} regions show clearly."),
    between=DEPARTURES.between,
    once=False,
    trips=True,
)

FLOWS = Features(look="flows")

MOVES = Features(look="moves")

MADE_UP_TRIPS = Features(look="trips")

MEAN, MEDIAN = "mean", "median"
"""Names of the columns with the mean and the median of a measure, by which maps are coloured."""

QUARTILE_COLUMNS = ("lower_quartile", MEDIAN, "upper_quartile")
"""Names of the columns with the quartiles, from the lower to the upper one."""

RANKS = ("rank_best", "rank_worst")
"""Names of the columns with the best and the worst possible rank, of which 1 is the highest."""


def interval_columns(column: str) -> tuple[str, str]:
    """Return the names of the columns with the ends of the 95 % intervals of values in `column`."""
    return f"{column}_low", f"{column}_high"


def typical_column(columns: Container[str]) -> str | None:
    """Return the name of a layer's column of means or medians, or None if it has neither."""
    return next((name for name in (MEAN, MEDIAN) if name in columns), None)


POINTS = Features(look="points")
