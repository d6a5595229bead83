"""Errors that people can correct; `dpgeo.api` maps them to HTTP statuses."""

from __future__ import annotations

from collections.abc import Mapping

from dpgeo.phrases import Phrase, Value


class DpgeoError(Exception):
    """An error that says what is wrong, where, and what to do about it.

    `template` is a constant English sentence and `values` fill its fields (`dpgeo.phrases`).
    `field` is the name of the input at fault, or "" when no single input is.
    """

    def __init__(self, template: str | Phrase, /, *, field: str = "", **values: Value) -> None:
        self.phrase = template if isinstance(template, Phrase) else Phrase(template, **values)
        self.field = field
        super().__init__(self.message)

    @property
    def template(self) -> str:
        """The sentence with unfilled fields, which is the key of its translations."""
        return self.phrase.template

    @property
    def values(self) -> Mapping[str, Value]:
        """The values that fill the sentence's fields."""
        return self.phrase.values

    @property
    def message(self) -> str:
        """The sentence in English."""
        return str(self.phrase)


class InvalidInput(DpgeoError):
    """An input is malformed or out of range."""


class BudgetExceeded(DpgeoError):
    """The privacy budget is too small for what was requested."""


class NotAllowed(DpgeoError):
    """The user may not do this."""


class Conflict(DpgeoError):
    """The resource is in a state in which this cannot be done."""


class PrivacyError(DpgeoError):
    """A request that breaks a privacy rule, such as an undeclared measurement.

    No noise was drawn for it.
    """
