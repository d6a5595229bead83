"""Request ids, which link a response to the log lines of its request."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bound_contextvars

HEADER = "X-Request-ID"

WELL_FORMED = re.compile(r"[A-Za-z0-9_-]{8,64}")
"""The form of request ids that proxies create. Anything else that a client sends is not logged."""


def request_id(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that adds an id to each request's log lines and to its response."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        name = given if WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
        with bound_contextvars(request_id=name):
            response = get_response(request)
        response.headers[HEADER] = name
        return response

    return middleware
