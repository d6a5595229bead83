"""Published files on the shortest way, for they are asked for more than all else together.

A middleware outside of sessions and views. It answers what it can in full, by the same code as the
view of files; whatever is unusual (a draft, a withdrawn release, a parameter, another method) goes
on to that view.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from dpgeo.api.base import OPEN_HEADERS
from dpgeo.api.files import serve
from dpgeo.releases.selectors import published_file

ADDRESS = re.compile(r"/api/v1/releases/([-\w]{1,32})/files/([\w.-]{1,100})", re.ASCII)

HEADERS = {**OPEN_HEADERS, "Allow": "GET, HEAD, OPTIONS", "X-Frame-Options": "DENY"}
"""As the view's answers have them."""

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def published_files(get_response: GetResponse) -> GetResponse:
    """Middleware that serves files of published releases."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        match = ADDRESS.fullmatch(request.path_info)
        if match is None or request.method not in {"GET", "HEAD"} or request.META["QUERY_STRING"]:
            return get_response(request)
        found = published_file(match[1], match[2])
        if found is None:
            return get_response(request)
        try:
            answer = serve(request, found)
        except FileNotFoundError:  # withdrawn in this very moment, which the view will say
            return get_response(request)
        for name, value in HEADERS.items():
            answer.headers[name] = value
        return answer

    return middleware
