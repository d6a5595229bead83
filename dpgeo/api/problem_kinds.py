"""Kinds of problem, and the one with which the web server answers before Django is set up."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem: its status, the last part of its type, its title and what helps."""

    status: HTTPStatus
    kind: str
    title: str
    remedy: str

    def document(self, detail: str = "", *, field: str = "") -> dict[str, Any]:
        """What an answer of this kind says; the remedy, where it has nothing of its own to say."""
        said = {
            "type": f"/api/docs#{self.kind}",
            "title": self.title,
            "status": int(self.status),
            "detail": detail or self.remedy,
        }
        return {**said, "field": field} if field else said


ADDRESS_TOO_LONG = Problem(
    HTTPStatus.REQUEST_URI_TOO_LONG,
    "address-too-long",
    "The address is too long",
    "Ask for less at once, or send it in a body where the address takes POST.",
)
