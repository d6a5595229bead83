"""Validation of declared categories: columns by whose values maps may be divided.

The values are typed by the publisher. Nothing here, and nothing that calls it, shows or proposes a
value from the data: what is public about a category is exactly what was declared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from dpgeo.core.attributes import OTHER
from dpgeo.core.categories import MOST_CATEGORIES, MOST_SLICES, Category
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.declaration import LONGEST_NAME, LONGEST_VALUE, clean_text
from dpgeo.datasets.measure_declaration import IDENTIFIERS, LONGEST_TITLE
from dpgeo.ingest.column_words import words_of
from dpgeo.phrases import InvalidValue

FIELD = "categories"

NOT_CATEGORIES = (
    'Must be a list like [{"column": "mode", "values": ["walk", "bike", "car"]}], where "title" '
    "may be added."
)


def clean_categories(declared: object) -> list[dict[str, Any]]:
    """Return valid categories as documents of `Category.to_json`. Raises InvalidInput.

    A column whose name says that it is an identifier is refused; one that has another role is
    refused when the columns are confirmed (`ingest.schema`).
    """
    if not isinstance(declared, Sequence) or isinstance(declared, str):
        raise InvalidInput(NOT_CATEGORIES, field=FIELD)
    categories = [_clean_category(each) for each in declared]
    if len(categories) > MOST_CATEGORIES:
        raise InvalidInput("Declare at most {most}.", most=MOST_CATEGORIES, field=FIELD)
    columns = [category.column for category in categories]
    for column in columns:
        if columns.count(column) > 1:
            raise InvalidInput("{column!r} is declared twice.", column=column, field=FIELD)
    return [category.to_json() for category in categories]


def _clean_category(declared: object) -> Category:
    if not isinstance(declared, Mapping) or declared.keys() - {"column", "title", "values"}:
        raise InvalidInput(NOT_CATEGORIES, field=FIELD)
    listed = declared.get("values")
    if not isinstance(listed, list | tuple):
        raise InvalidInput(NOT_CATEGORIES, field=FIELD)
    column = _line(declared.get("column"), LONGEST_NAME, required=True)
    title = _line(declared.get("title", ""), LONGEST_TITLE) or column
    if words_of(column) & IDENTIFIERS:
        raise InvalidInput(
            "{column!r} is a usual name for an identifier, which is no category; leave it out.",
            column=column,
            field=FIELD,
        )
    # Values are normalised in the same way as ingestion does before it compares them.
    values = [
        unicodedata.normalize("NFC", _line(value, LONGEST_VALUE, required=True)) for value in listed
    ]
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


def _line(text: object, longest: int, *, required: bool = False) -> str:
    if not isinstance(text, str):
        raise InvalidInput(NOT_CATEGORIES, field=FIELD)
    line = clean_text(text, field=FIELD, longest=longest, required=required)
    if len(line.splitlines()) > 1 or "\t" in line:
        raise InvalidInput(
            "A name or value contains a line break; write it on one line.", field=FIELD
        )
    return line


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
    listed = [value.strip() for value in values.split(",")]
    return {
        "column": column.strip(),
        "title": title.strip(),
        "values": [value for value in listed if value],
    }


def category_line(category: Category) -> str:
    """Return the line that `read_category` reads as this category."""
    title = f" = {category.title}" if category.title != category.column else ""
    return f"{category.column}{title}: {', '.join(category.values)}"
