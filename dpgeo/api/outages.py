"""Responses during an outage: too little space, no database or a read-only disk.

If there is too little space or the disk is read-only, requests that store something are refused
before their body is read. Requests that only read, sign in or free space are let through; if such a
request fails because of the outage, the response is the same as to a refused request: 507 if a file
does not fit, otherwise 503.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.defaults import server_error as plain_server_error

from dpgeo.api.problems import ADDRESSES, RETRY_SECONDS, lacks_space, outage_problem, takes_file
from dpgeo.datasets.storage import StoredFileMissing
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.outages import Outage, find_outage

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE", "DELETE")
"""HTTP methods that are always let through: they store nothing, except that DELETE frees space."""

LET_THROUGH = {
    *("quote", "plan", "plan-radius", "release-query"),
    *("login", "logout", "mfa_authenticate", "passkey", "desk-confirm", "desk-key-revoke"),
    *("desk-upload-remove", "desk-layer-remove", "desk-campaign-delete"),
    *("release-reject", "release-withdraw", "release-cancel"),
}
"""Names of URLs to which POST is let through, because it only reads, signs in or out, or deletes,
revokes, rejects, withdraws or cancels something.
"""

LET_THROUGH_ACTIONS = ("reject", "withdraw", "cancel")
"""Actions on releases at the desk that an outage does not block, since they need no space."""


class OutageMiddleware:
    """Middleware that refuses requests whose content cannot be stored because of an outage."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        """Return a refusal if what a request sends cannot be stored, or None to let it through."""
        return outage_answer(request, outage) if (outage := _missing(request)) else None


def server_error(request: HttpRequest) -> HttpResponse:
    """Respond to an unexpected error with 500, or with 503 or 507 if an outage caused it."""
    outage = find_outage(sys.exc_info()[1])
    return outage_answer(request, outage) if outage else plain_server_error(request)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond with 404, and say so if the cause is a file that the storage has lost."""
    missing = isinstance(exception, StoredFileMissing)
    return render(request, "404.html", {"missing": missing}, status=404)


def outage_answer(request: HttpRequest, outage: Outage) -> HttpResponse:
    """Return a problem document for API clients, JSON for the desk's scripts, or an HTML page."""
    if request.path.startswith(ADDRESSES):
        return outage_problem(outage, request)
    full = lacks_space(request, outage)
    status = 507 if full else 503
    if request.headers.get("Accept") == "application/json":
        words = gettext("Nothing can be stored at the moment; try again in a few minutes.")
        if outage is Outage.SPACE:
            words = gettext("There is too little free space on the server; try again later.")
        elif outage is Outage.DATABASE:
            words = gettext("The server is busy; try again in a minute.")
        answer: HttpResponse = JsonResponse({"errors": [words]}, status=status)
    else:
        answer = render(request, "503.html", {"full": full}, status=status)
    answer.headers["Retry-After"] = str(RETRY_SECONDS[outage])
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _missing(request: HttpRequest) -> Outage | None:
    """Return the outage because of which a request must be refused, or None to let it through.

    Only the request's URL and headers are read.
    """
    if request.method in SAFE or _is_let_through(request):
        return None
    reading = read_disk_space()
    if not reading.writable:
        return Outage.READ_ONLY
    wanted = _body_length(request) if takes_file(request) else 0
    return Outage.SPACE if reading.room < wanted else None


def _body_length(request: HttpRequest) -> int:
    """Return the header Content-Length, or 0 if it is not a number.

    The view itself refuses a request whose header is not a number.
    """
    length = request.META.get("CONTENT_LENGTH") or ""
    return int(length[:18]) if length.isascii() and length.isdigit() else 0


def _is_let_through(request: HttpRequest) -> bool:
    match = request.resolver_match
    if match is None:
        return True
    deletes = request.headers.get("X-HTTP-Method-Override", "").upper() == "DELETE"
    # The admin site stays open, because an operator may have to delete or deactivate something. But
    # it, too, refuses requests that upload a file.
    administration = match.app_names[:1] == ["admin"] and not takes_file(request)
    action = match.kwargs.get("action") in LET_THROUGH_ACTIONS
    return deletes or administration or action or match.url_name in LET_THROUGH
