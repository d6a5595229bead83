"""One root for every error a person can mend; `dpgeo.api` maps these to HTTP statuses."""

from __future__ import annotations


class DpgeoError(Exception):
    """Something a person can mend: says which field is wrong and what to do about it.

    `field` is the name of the input at fault, or "" when no single input is.
    """

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidInput(DpgeoError):
    """An input is malformed or out of range."""


class BudgetExceeded(DpgeoError):
    """The privacy budget does not hold what was asked."""


class NotAllowed(DpgeoError):
    """The person may not do this."""


class Conflict(DpgeoError):
    """The thing is in a state in which this cannot be done."""


class PrivacyError(DpgeoError):
    """A mechanism tried to measure what it had not declared; nothing was drawn."""
