"""Compression of pages and documents; files of releases are stored compressed already."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

COMPRESSED = ("application/", "image/svg+xml", "text/")
"""Prefixes of the media types of text; of the types of `application/`, only JSON and XML are
text."""


class CompressedText(GZipMiddleware):
    """Compression by Django, which also hides the length of pages, for whole responses that are
    text.

    Ranges, streams and pictures are not compressed.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Return the response, compressed if this makes it smaller and the client accepts it."""
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        texts = kind.startswith(COMPRESSED) and (
            not kind.startswith("application/") or kind.endswith(("json", "xml"))
        )
        if response.streaming or response.status_code == 206 or not texts:
            return response
        return super().process_response(request, response)
