"""Errors that the client raises."""

from __future__ import annotations


class DpgeoError(Exception):
    """An error of a server or of the connection to it; its text says what to do about it."""


class NetworkError(DpgeoError):
    """The server could not be reached, or its response was incomplete or broken."""


class ApiError(DpgeoError):
    """An error that the server reports: its `status`, what is wrong, and what to do about it.

    `field` names the input at fault, or is "" if there is none. `retry_after` is the number of
    seconds to wait before trying again, or None if the server does not state it.
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
