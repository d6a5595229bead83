"""Fast path for published files, which are requested most often.

The middleware runs before sessions and views, and serves files with the code of ReleaseFileView. It
passes all other requests on: those for drafts or withdrawn releases, those with query parameters,
and those with methods other than GET and HEAD.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from dpgeo.api.base import OPEN_HEADERS
from dpgeo.api.files import serve
from dpgeo.datasets.storage import StoredFileMissing
from dpgeo.releases.selectors import published_file

ADDRESS = re.compile(r"/api/v1/releases/([-\w]{1,32})/files/([\w.-]{1,100})", re.ASCII)

HEADERS = {**OPEN_HEADERS, "Allow": "GET, HEAD, OPTIONS", "X-Frame-Options": "DENY"}
"""The headers added to each file's response, the same as ReleaseFileView adds."""

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def published_files(get_response: GetResponse) -> GetResponse:
    """Return a middleware that serves files of published releases."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        match = ADDRESS.fullmatch(request.path_info)
        if match is None or request.method not in {"GET", "HEAD"} or request.META["QUERY_STRING"]:
            return get_response(request)
        file = published_file(match[1], match[2])
        if file is None:
            return get_response(request)
        try:
            answer = serve(request, file)
        except StoredFileMissing:  # ReleaseFileView says whether it was withdrawn or is missing
            return get_response(request)
        for name, value in HEADERS.items():
            answer.headers[name] = value
        return answer

    return middleware
