"""Kinds of problem documents, for Django and for the web server.

This module does not import Django, because the web server needs some kinds without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem: HTTP status, last part of its type URI, title and remedy."""

    status: HTTPStatus
    kind: str
    title: str
    remedy: str

    def document(self, detail: str = "", *, field: str = "") -> dict[str, Any]:
        """Return the problem document.

        If `detail` is empty, the remedy takes its place. If `field` is empty, it is left out.
        """
        document = {
            "type": f"/api/docs#{self.kind}",
            "title": self.title,
            "status": int(self.status),
            "detail": detail or self.remedy,
        }
        return {**document, "field": field} if field else document


ADDRESS_TOO_LONG = Problem(
    HTTPStatus.REQUEST_URI_TOO_LONG,
    "address-too-long",
    "The address is too long",
    "Ask for less at once, or send it as the body of a POST if the address accepts that.",
)
BUSY = Problem(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "busy",
    "Too much is computed at the moment",
    "Send the request again after as many seconds as the header Retry-After says.",
)
