"""Validation shared by declared measures and categories: lists of columns, and one-line texts.

No function here, and no caller, shows or proposes anything from the data: the public facts about a
column are exactly those that were declared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.declaration import LONGEST_NAME, clean_line

LONGEST_TITLE = 100

IDENTIFIERS = frozenset(
    {
        *("id", "ids", "uid", "uuid", "guid", "userid", "deviceid", "identifier", "kennung"),
        *("kennzeichen", "schlussel", "token", "hash", "imsi", "imei", "msisdn", "maid", "idfa"),
        *("phone", "telephone", "telefon", "email", "person", "user", "username"),
    }
)
"""Words in the names of columns that hold identifiers."""


class Column(Protocol):
    """A declared measure or category, with the name of its column in the data."""

    @property
    def column(self) -> str: ...
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class ColumnList:
    """A list of columns in a declaration: its input field and its maximum length.

    `wrong` is the text of the error for input that is not such a list.
    """

    field: str
    most: int
    wrong: str

    def clean(self, declared: object, read: Callable[[object], Column]) -> list[dict[str, Any]]:
        """Return the declared columns as JSON documents. Raises InvalidInput.

        `read` parses the declaration of one column.
        """
        if not isinstance(declared, Sequence) or isinstance(declared, str):
            raise self.refusal()
        columns = [read(each) for each in declared]
        if len(columns) > self.most:
            raise InvalidInput("Declare at most {most}.", most=self.most, field=self.field)
        names = [each.column for each in columns]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput("{column!r} is declared twice.", column=name, field=self.field)
        return [each.to_json() for each in columns]

    def refusal(self) -> InvalidInput:
        """Return the error for input that is not a list of columns in the right form."""
        return InvalidInput(self.wrong, field=self.field)

    def names(self, column: object, title: object) -> tuple[str, str]:
        """Return a column's name and its title; if the title is empty, the name takes its place.

        Raises InvalidInput if one of them is invalid.
        """
        name = self.line(column, LONGEST_NAME, required=True)
        return name, self.line(title, LONGEST_TITLE) or name

    def line(self, text: object, longest: int, *, required: bool = False) -> str:
        """Return a one-line text of at most `longest` characters, without surrounding spaces.

        Raises InvalidInput for any other text, and for an empty one that is `required`.
        """
        if not isinstance(text, str):
            raise self.refusal()
        return clean_line(text, field=self.field, longest=longest, required=required)
