"""Validation of declared measures: columns of numbers whose averages may be published.

Limits, unit and title are typed by the publisher. No function here, and no caller, proposes a limit
from the data or shows a smallest, largest or typical value: the public facts about a measure are
exactly those that were declared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from dpgeo.blanks import trim
from dpgeo.core.errors import InvalidInput
from dpgeo.core.measures import (
    ANSWER_STEPS,
    LARGEST_LIMIT,
    MOST_MEASURES,
    NUMBER_STEPS,
    Measure,
)
from dpgeo.core.number_text import number_text
from dpgeo.datasets.declaration import POSITIONS
from dpgeo.datasets.declared_columns import IDENTIFIERS, ColumnList
from dpgeo.ingest.column_words import words_of
from dpgeo.phrases import InvalidValue, translatable

FIELD = "measures"

MEASURES = ColumnList(
    FIELD,
    MOST_MEASURES,
    translatable(
        'Must be a list like [{"column": "speed", "unit": "km/h", "low": 0, "high": 120}], where '
        '"title" may be added; a column of answers is {"column": "by_bike", "answer": true}.'
    ),
)

LONGEST_UNIT = 30

PLACES = frozenset(
    {
        *("latitude", "lat", "longitude", "lon", "lng", "easting", "northing", "geohash"),
        *("rechtswert", "hochwert", "ostwert", "nordwert", "breitengrad", "langengrad"),
        *("postcode", "postcodes", "postal", "zip", "zipcode", "plz", "postleitzahl"),
        *("geometry", "geom", "wkt", "wkb", "coordinate", "coordinates", "koordinate"),
        *("koordinaten", "coordenadas", "coordonnees"),
    }
)
"""Words in a column's name that show that it holds places, which must not be averaged."""


def clean_measures(declared: object) -> list[dict[str, Any]]:
    """Return the declared measures as JSON (`Measure.to_json`). Raises InvalidInput.

    A column whose name says that it is a place or an identifier is refused; one that has another
    role is refused when the columns are confirmed (`ingest.schema`).
    """
    return MEASURES.clean(declared, _clean_measure)


def _clean_measure(declared: object) -> Measure:
    """Return one measure, parsed from its declaration or from a stored `Measure.to_json`."""
    if not isinstance(declared, Mapping) or not isinstance(declared.get("column"), str):
        raise MEASURES.refusal()
    facts = dict(declared)
    column, title = MEASURES.names(facts.pop("column"), facts.pop("title", ""))
    _check_name(column)
    if facts.pop("answer", False) is True or facts.get("steps") == ANSWER_STEPS:
        if facts.get("low", 0) != 0 or facts.get("high", 1) != 1 or facts.get("unit", ""):
            raise InvalidInput(
                "{column!r} holds answers, which have neither unit nor limits; leave these out.",
                column=column,
                field=FIELD,
            )
        _refuse_others(facts)
        return Measure(column, title, "", 0.0, 1.0, ANSWER_STEPS)
    unit = MEASURES.line(facts.get("unit", ""), LONGEST_UNIT)
    low, high = (_limit(facts.get(name), column) for name in ("low", "high"))
    if not high > low or facts.get("steps", NUMBER_STEPS) != NUMBER_STEPS:
        raise InvalidInput(
            "The upper limit of {column!r} must be above its lower limit.",
            column=column,
            field=FIELD,
        )
    _refuse_others(facts)
    return Measure(column, title, unit, low, high)


def _refuse_others(facts: Mapping[str, Any]) -> None:
    if facts.keys() - {"unit", "low", "high", "steps"}:
        raise MEASURES.refusal()


def _check_name(column: str) -> None:
    words = words_of(column)
    if words & PLACES or column.lower() in POSITIONS:
        raise InvalidInput(
            "{column!r} is a usual name for a place; the average of places would be a place, so "
            "it can't be published.",
            column=column,
            field=FIELD,
        )
    if words & IDENTIFIERS:
        raise InvalidInput(
            "{column!r} is a usual name for an identifier, whose average means nothing; leave it "
            "out.",
            column=column,
            field=FIELD,
        )


def _limit(value: object, column: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(
            "Give {column!r} a lower and an upper limit, as numbers.", column=column, field=FIELD
        )
    if abs(value) > LARGEST_LIMIT:
        raise InvalidInput(
            "A limit of {column!r} is beyond 10¹²; use a larger unit.", column=column, field=FIELD
        )
    return float(value)


ANSWER = re.compile(r"(?i)(?:yes|ja)\s*(?:or|oder|/)\s*(?:no|nein)")

LIMITS = re.compile(
    r"(?i)(?P<low>[+-]?[0-9.,]+)\s*(?:to|bis|\.\.|\u2013)\s*(?P<high>[+-]?[0-9.,]+)(?P<unit>.*)"
)


def read_measure(line: str) -> dict[str, Any]:
    """Return a measure parsed from a line such as "speed: 0 to 120 km/h".

    A title may follow the column: "speed = Speed of trips: 0 to 120 km/h". A column of answers is
    written as "by_bike: yes or no". Raises ValueError for any other text.
    """
    named, colon, rest = line.rpartition(":")
    column, _, title = named.partition("=")
    facts: dict[str, Any] = {"column": trim(column), "title": trim(title)}
    if colon and ANSWER.fullmatch(trim(rest)):
        return {**facts, "answer": True}
    limits = LIMITS.fullmatch(trim(rest))
    if not colon or limits is None:
        raise InvalidValue(
            "{line} is not understood; write a column, its limits and its unit, like "
            "speed: 0 to 120 km/h, or by_bike: yes or no.",
            line=repr(line[:60]),
        )
    low, high = (_number(limits[name], line) for name in ("low", "high"))
    return {**facts, "unit": trim(limits["unit"]), "low": low, "high": high}


def _number(text: str, line: str) -> float:
    try:
        return float(number_text(text.replace(",", ".")))
    except ValueError:
        raise InvalidValue(
            "{text} in {line} is not a number; write it like 2500 or 0.5.",
            text=repr(text),
            line=repr(line[:60]),
        ) from None


def measure_line(measure: Measure) -> str:
    """Return the line that `read_measure` reads as this measure."""
    title = f" = {measure.title}" if measure.title != measure.column else ""
    if measure.is_answer:
        return f"{measure.column}{title}: yes or no"
    limits = f"{measure.low:.15g} to {measure.high:.15g}"
    return f"{measure.column}{title}: {limits} {measure.unit}".rstrip()
