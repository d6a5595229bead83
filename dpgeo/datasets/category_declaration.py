"""Validation of declared categories: columns by whose values maps may be divided.

The values are typed by the publisher. No function here, and no caller, shows or proposes a value
from the data: the public facts about a category are exactly those that were declared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from dpgeo.blanks import trim
from dpgeo.core.attributes import OTHER
from dpgeo.core.categories import MOST_CATEGORIES, MOST_SLICES, Category
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.declaration import LONGEST_VALUE
from dpgeo.datasets.declared_columns import IDENTIFIERS, ColumnList
from dpgeo.ingest.column_words import words_of
from dpgeo.phrases import InvalidValue, translatable

FIELD = "categories"

CATEGORIES = ColumnList(
    FIELD,
    MOST_CATEGORIES,
    translatable(
        'Must be a list like [{"column": "mode", "values": ["walk", "bike", "car"]}], where '
        '"title" may be added.'
    ),
)


def clean_categories(declared: object) -> list[dict[str, Any]]:
    """Return the declared categories as JSON (`Category.to_json`). Raises InvalidInput.

    A column whose name says that it is an identifier is refused; one that has another role is
    refused when the columns are confirmed (`ingest.schema`).
    """
    return CATEGORIES.clean(declared, _clean_category)


def _clean_category(declared: object) -> Category:
    if not isinstance(declared, Mapping) or declared.keys() - {"column", "title", "values"}:
        raise CATEGORIES.refusal()
    listed = declared.get("values")
    if not isinstance(listed, list | tuple):
        raise CATEGORIES.refusal()
    column, title = CATEGORIES.names(declared.get("column"), declared.get("title", ""))
    if words_of(column) & IDENTIFIERS:
        raise InvalidInput(
            "{column!r} is a usual name for an identifier, which is no category; leave it out.",
            column=column,
            field=FIELD,
        )
    # Values are normalised in the same way as ingestion does before it compares them.
    lines = [CATEGORIES.line(value, LONGEST_VALUE, required=True) for value in listed]
    values = [unicodedata.normalize("NFC", line) for line in lines]
    _check_values(values, column)
    return Category(column, title, tuple(values))


def _check_values(values: Sequence[str], column: str) -> None:
    for value in values:
        if "," in value:
            raise InvalidInput(
                "{value!r} contains a comma, which stands between values; leave it out.",
                value=value,
                field=FIELD,
            )
    small = [value.casefold() for value in values]
    twice = next((value for value in values if small.count(value.casefold()) > 1), None)
    if twice is not None or OTHER in small:
        raise InvalidInput(
            "{value!r} is listed twice among the values of {column!r}; {other!r} is always "
            "included and must not be listed.",
            value=twice or OTHER,
            column=column,
            other=OTHER,
            field=FIELD,
        )
    if not 1 <= len(values) < MOST_SLICES:
        raise InvalidInput(
            "List from 1 to {most} values of {column!r}; every other one counts as {other!r}.",
            most=MOST_SLICES - 1,
            column=column,
            other=OTHER,
            field=FIELD,
        )


def read_category(line: str) -> dict[str, Any]:
    """Return a category parsed from a line such as "mode: walk, bike, car".

    A title may follow the column: "mode = Mode of transport: walk, bike, car". Raises ValueError
    for a line without a colon.
    """
    named, colon, values = line.partition(":")
    if not colon:
        raise InvalidValue(
            "{line} has no colon; write a column and its values, like mode: walk, bike, car.",
            line=repr(line[:60]),
        )
    column, _, title = named.partition("=")
    listed = [trim(value) for value in values.split(",")]
    return {
        "column": trim(column),
        "title": trim(title),
        "values": [value for value in listed if value],
    }


def category_line(category: Category) -> str:
    """Return the line that `read_category` reads as this category."""
    title = f" = {category.title}" if category.title != category.column else ""
    return f"{category.column}{title}: {', '.join(category.values)}"
