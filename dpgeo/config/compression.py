"""Compression of pages and documents; files of releases are stored compressed already."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

from dpgeo.core.encodings import accepts_gzip

COMPRESSED = ("application/", "image/svg+xml", "text/")
"""Prefixes of media types that are compressed; of `application/`, only JSON and XML are."""


class CompressedText(GZipMiddleware):
    """Django's compression, for complete text responses alone.

    It also adds random bytes, which hide the length of pages. Ranges, streams and pictures are not
    compressed.
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
        if not accepts_gzip(request.headers):
            patch_vary_headers(response, ("Accept-Encoding",))
            return response
        return super().process_response(request, response)
