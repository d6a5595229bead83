"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from rest_framework import exceptions

from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG, BUSY, MEDIA_TYPE, Problem
from dpgeo.core.errors import (
    BudgetExceeded,
    Conflict,
    DpgeoError,
    InvalidInput,
    NotAllowed,
    PrivacyError,
)
from dpgeo.datasets.storage import StoredFileMissing
from dpgeo.jobs.outages import Outage, find_outage
from dpgeo.releases import states

ADDRESSES = ("/api/", "/ogc/")
"""Prefixes of the API's URL paths, at which errors are problem documents instead of pages."""

logger = logging.getLogger(__name__)


INVALID_INPUT = Problem(
    HTTPStatus.BAD_REQUEST,
    "invalid-input",
    "Invalid input",
    "Check the request against /api/docs; `field` names the input at fault.",
)
NOT_AUTHENTICATED = Problem(
    HTTPStatus.UNAUTHORIZED,
    "not-authenticated",
    "Not signed in",
    "Send a key as Authorization: Bearer dpg_..., made at /desk/keys/, or sign in.",
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
    "Not found",
    "There is nothing at this address. Those that exist are listed at /api/docs.",
)
FILE_MISSING = Problem(
    HTTPStatus.NOT_FOUND,
    "file-missing",
    "A stored file is missing",
    "The operator of this server has been told; try again later.",
)
METHOD_NOT_ALLOWED = Problem(
    HTTPStatus.METHOD_NOT_ALLOWED,
    "method-not-allowed",
    "Method not allowed",
    "Use a method named in the header Allow.",
)
BUDGET_EXCEEDED = Problem(
    HTTPStatus.CONFLICT,
    "budget-exceeded",
    "The privacy budget is too small",
    "Ask for less epsilon.",
)
CONFLICT = Problem(
    HTTPStatus.CONFLICT,
    "conflict",
    "Not possible in this state",
    "Get the current state and decide again.",
)
GONE = tuple(Problem(HTTPStatus.GONE, gone.kind, gone.title, gone.remedy) for gone in states.GONE)
LENGTH_REQUIRED = Problem(
    HTTPStatus.LENGTH_REQUIRED,
    "length-required",
    "The length is missing",
    "Send the header Content-Length.",
)
PRECONDITION_FAILED = Problem(
    HTTPStatus.PRECONDITION_FAILED,
    "precondition-failed",
    "Unsupported version of the protocol",
    "This address supports tus 1.0.0; send the header Tus-Resumable: 1.0.0.",
)
TOO_LARGE = Problem(
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "too-large",
    "The body is too large",
    "Send less.",
)
MEDIA = Problem(
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "unsupported-media-type",
    "Unsupported media type",
    "Send JSON, with the header Content-Type: application/json.",
)
RANGE = Problem(
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    "range-not-satisfiable",
    "The range lies beyond the end",
    "Ask for bytes that the file has; its size is in the list of files.",
)
TOO_MANY_REQUESTS = Problem(
    HTTPStatus.TOO_MANY_REQUESTS,
    "too-many-requests",
    "Too many requests",
    "Wait as long as the header Retry-After says.",
)
BEING_MADE = Problem(
    HTTPStatus.ACCEPTED,
    "being-made",
    "This file is being made",
    "Send the request again after as many seconds as the header Retry-After says.",
)
INSUFFICIENT_STORAGE = Problem(
    HTTPStatus.INSUFFICIENT_STORAGE,
    "insufficient-storage",
    "No space for this file",
    "This server has too little free space; nothing was stored. Send it again later.",
)
UNAVAILABLE = Problem(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "unavailable",
    "Nothing can be stored at the moment",
    "Send the request again after as many seconds as the header Retry-After says.",
)
SERVER_ERROR = Problem(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "server-error",
    "Server error",
    "Try again later; if the error persists, tell the operator of this server.",
)

KINDS = (
    INVALID_INPUT,
    NOT_AUTHENTICATED,
    NOT_ALLOWED,
    NOT_FOUND,
    FILE_MISSING,
    METHOD_NOT_ALLOWED,
    CONFLICT,
    BUDGET_EXCEEDED,
    *GONE,
    LENGTH_REQUIRED,
    PRECONDITION_FAILED,
    TOO_LARGE,
    ADDRESS_TOO_LONG,
    MEDIA,
    RANGE,
    TOO_MANY_REQUESTS,
    SERVER_ERROR,
    UNAVAILABLE,
    BUSY,
    INSUFFICIENT_STORAGE,
    BEING_MADE,
)
"""Every kind of problem."""

OF_ERROR: Mapping[type[DpgeoError], Problem] = {
    InvalidInput: INVALID_INPUT,
    NotAllowed: NOT_ALLOWED,
    BudgetExceeded: BUDGET_EXCEEDED,
    Conflict: CONFLICT,
    StoredFileMissing: FILE_MISSING,
    PrivacyError: SERVER_ERROR,
    DpgeoError: SERVER_ERROR,
}
"""Kinds of problem by error class; an error of another class has the kind of its nearest base
class.
"""

RETRY_SECONDS = {Outage.SPACE: 300, Outage.READ_ONLY: 300, Outage.DATABASE: 30}
"""Seconds to wait before repeating a request that failed because of an outage, by kind of outage.
"""

TAKES_FILES = {"tus-uploads", "tus-upload"}
"""URL names of the views to which clients send files."""

OF_STATUS = {kind.status: kind for kind in reversed(KINDS)}
"""The kind of problem for each HTTP status: the first one in KINDS with that status."""


class Refused(exceptions.APIException):
    """A response with a problem; `wait` is the number of seconds before another attempt."""

    def __init__(
        self, kind: Problem, detail: str = "", *, field: str = "", wait: int | None = None
    ) -> None:
        super().__init__(detail or kind.remedy)
        self.status_code = kind.status
        self.kind, self.field, self.wait = kind, field, wait


def gone(ended: states.Gone, release_id: str) -> Refused:
    """Return the response to requests for a release that was withdrawn or never published."""
    kind = next(kind for kind in GONE if kind.kind == ended.kind)
    return Refused(kind, ended.detail.format(id=release_id))


UNREADABLE = (BadRequest, SuspiciousOperation, MultiPartParserError, UnreadablePostError)
"""Django's exceptions for requests that cannot be read."""


def answer(
    kind: Problem, detail: str = "", *, field: str = "", headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return a response with a problem document.

    Caches may not store it, because the cause of the problem may go away. `headers` are added to
    those of the response.
    """
    document = kind.document(detail, field=field)
    response = JsonResponse(document, status=kind.status, content_type=MEDIA_TYPE, headers=headers)
    response["Cache-Control"] = "no-store"
    return response


def problem_response(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """Return the response to an error that a view raised, and log the error if unexpected.

    Returns None for an unexpected error if DEBUG is set, so that Django shows its own page.
    """
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
    if isinstance(error, UNREADABLE):
        return answer(INVALID_INPUT)
    if outage := find_outage(error):
        logger.warning("An API request failed for want of %s", outage.value, exc_info=error)
        return outage_problem(outage, context["request"])
    if settings.DEBUG:
        return None
    logger.error("An API request failed", exc_info=error)
    return answer(SERVER_ERROR)


def outage_problem(outage: Outage, request: Any) -> HttpResponse:
    """Return the response to a request that could not be carried out because of `outage`."""
    kind = INSUFFICIENT_STORAGE if lacks_space(request, outage) else UNAVAILABLE
    return answer(kind, headers={"Retry-After": str(RETRY_SECONDS[outage])})


def lacks_space(request: Any, outage: Outage) -> bool:
    """Return whether `outage` is a lack of space and the request sends or announces a file.

    To announce a file is to create an upload before any of the file's bytes are sent.
    """
    return takes_file(request) and outage is Outage.SPACE


def takes_file(request: Any) -> bool:
    """Return whether a request sends a file or announces one."""
    match = request.resolver_match
    named = match is not None and match.url_name in TAKES_FILES
    return named or (request.content_type or "").startswith("multipart/")


def of_status(status: int) -> Problem:
    """Return the kind of problem with a status; if KINDS has none, one named like the status."""
    known = HTTPStatus(status)
    if known in OF_STATUS:
        return OF_STATUS[known]
    remedy = "This request cannot be answered; check it against /api/docs."
    return Problem(known, known.phrase.lower().replace(" ", "-"), known.phrase, remedy)


def _framework_problem(error: exceptions.APIException) -> HttpResponse:
    kind = getattr(error, "kind", None) or of_status(error.status_code)
    detail = str(error.detail)
    headers = {}
    if isinstance(error, exceptions.MethodNotAllowed | exceptions.Throttled):
        detail = ""
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    if realm := getattr(error, "auth_header", ""):
        headers["WWW-Authenticate"] = realm
    return answer(kind, detail, field=getattr(error, "field", ""), headers=headers)


class ProblemMiddleware:
    """Middleware that turns API errors raised outside the API's views into problem documents.

    Where the site is served by https, it also refuses programs that use http. A redirect would hide
    that a key has just been sent without encryption.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.HTTPS and not request.is_secure() and request.path.startswith(ADDRESSES):
            return answer(NOT_ALLOWED, "Use https. A key that was sent by http has to be replaced.")
        response = self._get_response(request)
        if response.status_code < 400 or not request.path.startswith(ADDRESSES):
            return response
        if response.get("Content-Type", "").startswith(MEDIA_TYPE) or settings.DEBUG:
            return response
        return answer(of_status(response.status_code))
