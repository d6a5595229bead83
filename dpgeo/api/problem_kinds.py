"""Kinds of problem.

This module does not import Django: the web server answers with some of them by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem: status, last part of its type, title and remedy."""

    status: HTTPStatus
    kind: str
    title: str
    remedy: str

    def document(self, detail: str = "", *, field: str = "") -> dict[str, Any]:
        """Return the problem document; its detail is by default the remedy."""
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
