"""A name for every request, so that what is logged of it can be found from its answer."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bound_contextvars

HEADER = "X-Request-ID"

WELL_FORMED = re.compile(r"[A-Za-z0-9_-]{8,64}")
"""What proxies make. Anything else a client sends stays out of the logs."""


def request_id(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that takes the request's id, or makes one, for its log lines and its answer."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        name = given if WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
        with bound_contextvars(request_id=name):
            response = get_response(request)
        response.headers[HEADER] = name
        return response

    return middleware
