"""Columns that a dataset declares: measures to average, categories, and public attributes.

Everything here is typed by the publisher. No function here, and no caller, proposes or shows a
limit or a value from the data: the public facts about a column are exactly those declared.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from dpgeo.blanks import trim
from dpgeo.core.attributes import MAX_COMBINATIONS, OTHER, Attribute, combinations
from dpgeo.core.categories import MAX_CATEGORIES, MAX_SLICES, Category
from dpgeo.core.declared import (
    STRICT,
    Declared,
    Flag,
    Items,
    Real,
    Typed,
    Whole,
    fact,
    schema_of,
    without_field,
)
from dpgeo.core.measures import (
    ANSWER_STEPS,
    MAX_LIMIT,
    MAX_MEASURES,
    NUMBER_STEPS,
    Measure,
)
from dpgeo.core.number_text import number_text
from dpgeo.datasets.texts import clean_line
from dpgeo.ingest.column_words import words_of
from dpgeo.phrases import InvalidValue, translatable

MAX_NAME, MAX_TITLE, MAX_VALUE, MAX_UNIT = 60, 100, 100, 30
"""Maximum lengths of a column's name, of its title, of a value and of a unit, in characters."""

MAX_VALUES = 1000
"""Maximum number of values of one public attribute."""

MAX_ATTRIBUTES = 20

TAKEN = frozenset({"bbox", "fid", "geom", "geometry", "id", "latitude", "longitude", "time"})
"""Column names that at least one output format for points already uses."""

POSITIONS = frozenset(
    {
        *("coordinates", "easting", "geohash", "lat", "lng", "lon", "long", "northing"),
        *("point", "position", "wkb", "wkt", "x", "y"),
    }
)
"""Usual names of location columns, which neither attributes nor measures must have."""

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

IDENTIFIERS = frozenset(
    {
        *("id", "ids", "uid", "uuid", "guid", "userid", "deviceid", "identifier", "kennung"),
        *("kennzeichen", "schlussel", "token", "hash", "imsi", "imei", "msisdn", "maid", "idfa"),
        *("phone", "telephone", "telefon", "email", "person", "user", "username"),
    }
)
"""Words in the names of columns that hold identifiers."""


def _line(longest: int, *, required: bool = False) -> BeforeValidator:
    read = partial(clean_line, longest=longest, required=required)
    return BeforeValidator(partial(without_field, read))


def _list_of(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


Name = Annotated[str, _line(MAX_NAME, required=True)]
Title = Annotated[str, _line(MAX_TITLE)]
UnitText = Annotated[str, _line(MAX_UNIT)]
Values = Annotated[Items, BeforeValidator(_list_of)]


class MeasureDeclaration(Declared):
    """A column of numbers whose averages may be published, as it is declared."""

    column: Name = fact("Its name in the files.")
    title: Title = fact("The column's name, if left out.", "")
    unit: UnitText = fact("The text after its values, such as km/h.", "")
    low: Real = fact("Values below this limit count as the limit.", None)
    high: Real = fact("Values above this limit count as the limit.", None)
    steps: Whole = fact("", None, schema={"enum": [NUMBER_STEPS, ANSWER_STEPS]})
    answer: Flag = fact("Yes or no, instead of limits and unit.", False)

    def build(self) -> Measure:
        """Return the measure. Raises InvalidValue."""
        words = words_of(self.column)
        if words & PLACES or self.column.lower() in POSITIONS:
            raise InvalidValue(
                "{column!r} is a usual name for a place; the average of places would be a place, "
                "so it can't be published.",
                column=self.column,
            )
        if words & IDENTIFIERS:
            raise InvalidValue(
                "{column!r} is a usual name for an identifier, whose average means nothing; leave "
                "it out.",
                column=self.column,
            )
        title = self.title or self.column
        if self.answer or self.steps == ANSWER_STEPS:
            if self.unit or self.low not in (None, 0) or self.high not in (None, 1):
                raise InvalidValue(
                    "{column!r} holds answers, which have neither unit nor limits; leave these "
                    "out.",
                    column=self.column,
                )
            return Measure(self.column, title, "", 0.0, 1.0, ANSWER_STEPS)
        self._check_limits()
        return Measure(self.column, title, self.unit, self.low, self.high)

    def _check_limits(self) -> None:
        for limit in (self.low, self.high):
            if limit is None or not math.isfinite(limit):
                raise InvalidValue(
                    "Give {column!r} a lower and an upper limit, as numbers.", column=self.column
                )
            if abs(limit) > MAX_LIMIT:
                raise InvalidValue(
                    "A limit of {column!r} is beyond 10¹²; use a larger unit.", column=self.column
                )
        if not self.high > self.low or self.steps not in (None, NUMBER_STEPS):
            raise InvalidValue(
                "The upper limit of {column!r} must be above its lower limit.", column=self.column
            )


class CategoryDeclaration(Declared):
    """A column with few values by which maps may be divided, as it is declared."""

    column: Name = fact("Its name in the files.")
    title: Title = fact("The column's name, if left out.", "")
    values: Values = fact(
        'Every other value counts as "other".',
        schema={"items": {"type": "string"}, "minItems": 1, "maxItems": MAX_SLICES - 1},
    )

    def build(self) -> Category:
        """Return the category. Raises InvalidValue."""
        if words_of(self.column) & IDENTIFIERS:
            raise InvalidValue(
                "{column!r} is a usual name for an identifier, which is no category; leave it out.",
                column=self.column,
            )
        values = _clean_values(self.column, self.values, MAX_SLICES - 1, fold=str.casefold)
        for value in values:
            if "," in value:
                raise InvalidValue(
                    "{value!r} contains a comma, which stands between values; leave it out.",
                    value=value,
                )
        return Category(self.column, self.title or self.column, values)


class AttributeDeclaration(Declared):
    """A column whose values may be known of every report, as it is declared."""

    column: Name = fact("Its name in the files.")
    values: Values = fact(
        'Every other value becomes "other".', schema={"items": {"type": "string"}}
    )

    def build(self) -> Attribute:
        """Return the attribute. Raises InvalidValue."""
        name = self.column.lower()
        if name in TAKEN:
            raise InvalidValue(
                "{name!r} is the name of another column of the files; rename the attribute.",
                name=name,
            )
        if name in POSITIONS:
            raise InvalidValue(
                "{name!r} is a usual name for a column of positions, which would be published "
                "unchanged; leave it out, or rename the column if it says nothing about where "
                "a report was made.",
                name=name,
            )
        return Attribute(self.column, _clean_values(self.column, self.values, MAX_VALUES, fold=str))


def _clean_values(
    column: str, values: Sequence[object], most: int, *, fold: Callable[[str], str]
) -> tuple[str, ...]:
    """Return values normalised as ingestion does before it compares them. Raises InvalidValue."""
    read = partial(clean_line, longest=MAX_VALUE)
    lines = [without_field(read, value) for value in values]
    clean = tuple(unicodedata.normalize("NFC", line) for line in lines)
    folded = [fold(value) for value in clean]
    for value in clean:
        if folded.count(fold(value)) > 1 or fold(value) == OTHER:
            raise InvalidValue(
                "{value!r} is listed twice among the values of {column!r}; {other!r} is always "
                "included and must not be listed.",
                value=value,
                column=column,
                other=OTHER,
            )
    if not 1 <= len(clean) <= most:
        raise InvalidValue(
            "List from 1 to {most:,} values of {column!r}; every other one counts as {other!r}.",
            most=most,
            column=column,
            other=OTHER,
        )
    return clean


ANSWER = re.compile(r"(?i)(?:yes|ja)\s*(?:or|oder|/)\s*(?:no|nein)")

LIMITS = re.compile(
    r"(?i)(?P<low>[+-]?[0-9.,]+)\s*(?:to|bis|\.\.|\u2013)\s*(?P<high>[+-]?[0-9.,]+)(?P<unit>.*)"
)


def _read_measure(line: str) -> dict[str, Any]:
    named, colon, rest = line.rpartition(":")
    column, _, title = named.partition("=")
    facts: dict[str, Any] = {"column": column, "title": title}
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
    return {**facts, "unit": limits["unit"], "low": low, "high": high}


def _number(text: str, line: str) -> float:
    try:
        return float(number_text(text.replace(",", ".")))
    except ValueError:
        raise InvalidValue(
            "{text} in {line} is not a number; write it like 2500 or 0.5.",
            text=repr(text),
            line=repr(line[:60]),
        ) from None


def _write_measure(measure: Measure) -> str:
    named = _write_name(measure)
    if measure.is_answer:
        return f"{named}: yes or no"
    return f"{named}: {measure.low:.15g} to {measure.high:.15g} {measure.unit}".rstrip()


def _write_name(column: Measure | Category) -> str:
    return column.column + (f" = {column.title}" if column.title != column.column else "")


def _read_category(line: str) -> dict[str, Any]:
    named, values = _split(line, line.partition(":"))
    column, _, title = named.partition("=")
    return {"column": column, "title": title, "values": values}


def _read_attribute(line: str) -> dict[str, Any]:
    column, values = _split(line, line.rpartition(":"))
    return {"column": column, "values": values}


def _split(line: str, parts: tuple[str, str, str]) -> tuple[str, list[str]]:
    named, colon, values = parts
    if not colon:
        raise InvalidValue(
            "{line} has no colon; write a column and its values, like mode: walk, bike, car.",
            line=repr(line[:60]),
        )
    return named, [value for value in map(trim, values.split(",")) if value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnList(Typed):
    """A list of at most `most` columns of a `kind`, given as objects or as typed lines."""

    kind: type[Any]
    model: type[MeasureDeclaration | CategoryDeclaration | AttributeDeclaration]
    most: int
    read_line: Callable[[str], dict[str, Any]]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(
            lambda columns: [each.to_json() for each in columns]
        )
        return core_schema.with_info_plain_validator_function(self.read, serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"type": "array", "items": schema_of(self.model), "maxItems": self.most}

    def read(self, values: object, info: ValidationInfo) -> tuple[Any, ...]:
        """Return the columns. Raises InvalidValue."""
        if not isinstance(values, list | tuple):
            raise InvalidValue("Must be a list, [...].")
        columns = tuple(self._read_one(each, info.context == STRICT) for each in values)
        if len(columns) > self.most:
            raise InvalidValue("Declare at most {most}.", most=self.most)
        names = [each.column.lower() for each in columns]
        for name in names:
            if names.count(name) > 1:
                raise InvalidValue("{column!r} is declared twice.", column=name)
        if self.kind is Attribute and combinations(columns) > MAX_COMBINATIONS:
            raise InvalidValue(
                "Their values make more than {most:,} combinations; declare fewer.",
                most=MAX_COMBINATIONS,
            )
        return columns

    def _read_one(self, value: object, strict: bool) -> Any:
        if isinstance(value, self.kind):
            return value
        if isinstance(value, str) and not strict:
            value = self.read_line(value)
        if not isinstance(value, Mapping):
            raise InvalidValue("Must be a list of objects, [{...}].")
        facts, refusals = self.model.attempt(value, strict=True)
        if facts is None:
            first = refusals[0]
            raise InvalidValue("`{name}`: {problem}", name=first.field, problem=first.phrase)
        return facts.build()


Measures = Annotated[
    tuple[Measure, ...],
    ColumnList(
        separator="\n",
        hint=translatable(
            "A column, its limits and its unit in each line: speed: 0 to 120 km/h, or "
            "by_bike: yes or no."
        ),
        write=_write_measure,
        kind=Measure,
        model=MeasureDeclaration,
        most=MAX_MEASURES,
        read_line=_read_measure,
    ),
]
Categories = Annotated[
    tuple[Category, ...],
    ColumnList(
        separator="\n",
        hint=translatable("A column and its values in each line, such as mode: walk, bike, car."),
        write=lambda each: f"{_write_name(each)}: {', '.join(each.values)}",
        kind=Category,
        model=CategoryDeclaration,
        most=MAX_CATEGORIES,
        read_line=_read_category,
    ),
]
Attributes = Annotated[
    tuple[Attribute, ...],
    ColumnList(
        separator="\n",
        hint=translatable("A column and its values in each line, such as app: 1.4, 2.0."),
        write=lambda each: f"{each.column}: {', '.join(each.values)}",
        kind=Attribute,
        model=AttributeDeclaration,
        most=MAX_ATTRIBUTES,
        read_line=_read_attribute,
    ),
]
