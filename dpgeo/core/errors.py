"""Errors that users can correct; `dpgeo.api` maps them to HTTP statuses."""

from __future__ import annotations

from collections.abc import Mapping

from dpgeo.phrases import Phrase, Value


class DpgeoError(Exception):
    """Base class of errors with a message that says what is wrong, where, and what to do.

    `template` is a constant English sentence with placeholders for `values` (`dpgeo.phrases`).
    `field` is the name of the input at fault, or "" if no single input is at fault.
    """

    def __init__(self, template: str | Phrase, /, *, field: str = "", **values: Value) -> None:
        self.phrase = template if isinstance(template, Phrase) else Phrase(template, **values)
        self.field = field
        super().__init__(self.message)

    @property
    def template(self) -> str:
        """The sentence with its placeholders; it is also the key of its translations."""
        return self.phrase.template

    @property
    def values(self) -> Mapping[str, Value]:
        """The values for the placeholders of `template`."""
        return self.phrase.values

    @property
    def message(self) -> str:
        """The sentence in English."""
        return str(self.phrase)


class InvalidInput(DpgeoError):
    """Raised if an input is malformed or out of range."""


class BudgetExceeded(DpgeoError):
    """Raised if the privacy budget is too small for a request."""


class NotAllowed(DpgeoError):
    """Raised if a user is not allowed to do something."""


class Conflict(DpgeoError):
    """Raised if the state of a resource does not allow an action."""


class PrivacyError(DpgeoError):
    """Raised before noise is drawn if a request breaks a privacy rule.

    An example is a measurement that was not declared.
    """
