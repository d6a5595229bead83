"""Errors as problem+json (RFC 9457): what is wrong, which field, and what to do about it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from rest_framework import exceptions

from dpgeo.core.errors import (
    BudgetExceeded,
    Conflict,
    DpgeoError,
    InvalidInput,
    NotAllowed,
    PrivacyError,
)

MEDIA_TYPE = "application/problem+json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem: its status, the last part of its type, its title and what helps."""

    status: HTTPStatus
    kind: str
    title: str
    remedy: str


INVALID_INPUT = Problem(
    HTTPStatus.BAD_REQUEST,
    "invalid-input",
    "An input cannot be used",
    "Check the request against /api/docs; `field` names the input at fault.",
)
NOT_ALLOWED = Problem(
    HTTPStatus.FORBIDDEN,
    "not-allowed",
    "You may not do this",
    "Sign in with an account that may.",
)
NOT_FOUND = Problem(
    HTTPStatus.NOT_FOUND,
    "not-found",
    "Nothing here",
    "There is nothing at this address. Those that exist are listed at /api/docs.",
)
READ_ONLY = Problem(
    HTTPStatus.METHOD_NOT_ALLOWED,
    "method-not-allowed",
    "This address is for reading",
    "Use GET or HEAD.",
)
BUDGET_EXCEEDED = Problem(
    HTTPStatus.CONFLICT,
    "budget-exceeded",
    "The privacy budget does not hold this",
    "Ask for less epsilon.",
)
CONFLICT = Problem(
    HTTPStatus.CONFLICT,
    "conflict",
    "Not possible in this state",
    "Read the present state and decide anew.",
)
WITHDRAWN = Problem(
    HTTPStatus.GONE,
    "withdrawn",
    "This release is withdrawn",
    "Its files are no longer served; the release itself says what it was.",
)
RANGE = Problem(
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    "range-not-satisfiable",
    "The range lies beyond the end",
    "Ask for bytes that the file has; its size is in the list of files.",
)
SERVER_ERROR = Problem(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "server-error",
    "Something is wrong on this server",
    "Try again later; if it stays, tell whoever runs this server.",
)

KINDS = (
    INVALID_INPUT,
    NOT_ALLOWED,
    NOT_FOUND,
    READ_ONLY,
    BUDGET_EXCEEDED,
    CONFLICT,
    WITHDRAWN,
    RANGE,
    SERVER_ERROR,
)
"""Every kind that the API answers with."""

OF_ERROR: Mapping[type[DpgeoError], Problem] = {
    InvalidInput: INVALID_INPUT,
    NotAllowed: NOT_ALLOWED,
    BudgetExceeded: BUDGET_EXCEEDED,
    Conflict: CONFLICT,
    PrivacyError: SERVER_ERROR,
    DpgeoError: SERVER_ERROR,
}
"""The one table from errors to statuses; an error takes the line of its nearest class."""

OF_STATUS = {kind.status: kind for kind in reversed(KINDS)}


class Gone(exceptions.APIException):
    """What was here is withdrawn, for good."""

    status_code = HTTPStatus.GONE


def answer(
    kind: Problem, detail: str = "", *, field: str = "", headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """An answer that says what went wrong. Never stored, for what is missing may come."""
    document = {
        "type": f"/api/docs#{kind.kind}",
        "title": kind.title,
        "status": int(kind.status),
        "detail": detail or kind.remedy,
    }
    if field:
        document["field"] = field
    response = JsonResponse(document, status=kind.status, content_type=MEDIA_TYPE, headers=headers)
    response["Cache-Control"] = "no-store"
    return response


def problem_of(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """The answer to an error raised in a view; an unexpected one is logged and not explained."""
    if isinstance(error, DpgeoError):
        kind = next(OF_ERROR[cls] for cls in type(error).__mro__ if cls in OF_ERROR)
        if kind is not SERVER_ERROR:
            return answer(kind, error.message, field=error.field)
    if isinstance(error, Http404):
        return answer(NOT_FOUND)
    if isinstance(error, PermissionDenied):
        return answer(NOT_ALLOWED)
    if isinstance(error, exceptions.APIException):
        return _framework_problem(error)
    if settings.DEBUG:
        return None
    logger.error("An API request failed", exc_info=error)
    return answer(SERVER_ERROR)


def of_status(status: int) -> Problem:
    """The kind of a status; one that has none gets a plain one."""
    known = HTTPStatus(status)
    if known in OF_STATUS:
        return OF_STATUS[known]
    remedy = "This request cannot be served; check it against /api/docs."
    return Problem(known, known.phrase.lower().replace(" ", "-"), known.phrase, remedy)


def _framework_problem(error: exceptions.APIException) -> HttpResponse:
    kind = of_status(error.status_code)
    detail = "" if isinstance(error, exceptions.MethodNotAllowed) else str(error.detail)
    return answer(kind, detail)


class ProblemMiddleware:
    """Errors that arise outside of the API's views, such as an unknown host, as problems too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if response.status_code < 400 or not request.path.startswith("/api/"):
            return response
        if response.get("Content-Type", "").startswith(MEDIA_TYPE) or settings.DEBUG:
            return response
        return answer(of_status(response.status_code))
