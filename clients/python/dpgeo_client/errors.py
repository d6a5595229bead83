"""Errors that the client raises."""

from __future__ import annotations


class DpgeoError(Exception):
    """An error of a server or of the connection to it; its text says what to do about it."""


class NetworkError(DpgeoError):
    """The server could not be reached, or what it sent did not arrive whole."""


class ApiError(DpgeoError):
    """An error that the server reports: its `status`, what is wrong, and what to do about it.

    `field` names the input at fault, or is "" if there is none. `retry_after` is the number of
    seconds after which the server asks to try again, or None if it does not ask for that.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        field: str = "",
        retry_after: float | None = None,
    ) -> None:
        at = f" ({field})" if field else ""
        super().__init__(f"{title}{at}: {detail}")
        self.status, self.title, self.detail, self.field = status, title, detail, field
        self.retry_after = retry_after
