"""Errors that a user can correct; `dpgeo.api` maps them to HTTP statuses."""

from __future__ import annotations


class DpgeoError(Exception):
    """An error that a user can correct: what is wrong and what to do.

    `field` is the name of the input at fault, or "" when no single input is.
    """

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidInput(DpgeoError):
    """An input is malformed or out of range."""


class BudgetExceeded(DpgeoError):
    """The privacy budget is smaller than the request."""


class NotAllowed(DpgeoError):
    """The user may not do this."""


class Conflict(DpgeoError):
    """The object's present state does not allow this."""


class PrivacyError(DpgeoError):
    """A mechanism tried to measure something undeclared; nothing was drawn."""
