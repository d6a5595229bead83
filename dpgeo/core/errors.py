"""Errors that users can correct; `dpgeo.api` maps them to HTTP statuses."""

from __future__ import annotations

from collections.abc import Mapping

from dpgeo.phrases import Phrase, Value


class DpgeoError(Exception):
    """Base class of errors whose message says what is wrong, where, and what to do about it.

    `template` is a constant English sentence whose placeholders are filled with `values`
    (`dpgeo.phrases`). `field` is the name of the input at fault, "" if there is no single one.
    """

    def __init__(self, template: str | Phrase, /, *, field: str = "", **values: Value) -> None:
        self.phrase = template if isinstance(template, Phrase) else Phrase(template, **values)
        self.field = field
        super().__init__(self.message)

    @property
    def template(self) -> str:
        """The sentence with its placeholders, which is the key of its translations."""
        return self.phrase.template

    @property
    def values(self) -> Mapping[str, Value]:
        """The values that fill the sentence's placeholders."""
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
    """A request breaks a privacy rule, such as an undeclared measurement; no noise was drawn."""
