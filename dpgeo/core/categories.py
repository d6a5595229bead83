"""Categories: declared columns with few possible values; each row's own value is private.

A publisher types the values of a category, such as the modes of transport; only this list is
public. Every other value, and a missing one, becomes OTHER. Which value a row has is private:
mechanisms may count by category, and no output repeats the value of a row. (Columns whose values
are published for each row are declared as public attributes, `core.attributes`.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from dpgeo.core.attributes import OTHER
from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import listed, translatable

MAX_CATEGORIES = 10
"""Largest number of categories that a dataset can have."""

MAX_SLICES = 24
"""Largest number of slices in a release, and of values in a category (OTHER included)."""

OTHER_TITLE = translatable("Other")


@dataclass(frozen=True, slots=True)
class Category:
    """A column of private values, and the declared values in order, without OTHER."""

    column: str
    title: str
    values: tuple[str, ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the category described by `document`, which `to_json` made."""
        return cls(
            column=str(document["column"]),
            title=str(document["title"]),
            values=tuple(str(value) for value in document["values"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the category as a JSON object."""
        return {"column": self.column, "title": self.title, "values": list(self.values)}

    def __len__(self) -> int:
        """Return the number of values, including OTHER."""
        return len(self.values) + 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The values from which slices' keys are made, in the order of codes; OTHER is last."""
        return (*self.values, OTHER)

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the values on pages, in the order of their codes."""
        return (*self.values, OTHER_TITLE)


def category_column(index: int) -> str:
    """Return the name of the canonical file's column that holds the codes of a dataset's category.

    `index` is the position of the category among the dataset's categories.
    """
    return f"category_{index}"


def find_category(categories: Sequence[Category], column: str) -> Category:
    """Return the category with this column name, or the first category if the name is "".

    Raises InvalidInput if there is none.
    """
    for each in categories:
        if column in ("", each.column):
            return each
    if not categories:
        raise InvalidInput(
            "This dataset declares no categories; declare one before its first file is confirmed.",
            field="category",
        )
    raise InvalidInput(
        "{column!r} is not declared as a category; choose from {known}.",
        column=column,
        known=listed(each.column for each in categories),
        field="category",
    )
