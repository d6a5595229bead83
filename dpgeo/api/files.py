"""Files of releases, served with strong ETags and byte ranges, plain or gzipped."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.text import slugify
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import exceptions
from rest_framework.request import Request

from dpgeo.api.access import check_served, release_seen, request_viewer
from dpgeo.api.base import ApiView
from dpgeo.api.openapi import operation
from dpgeo.api.problems import BEING_MADE, RANGE, Refused, answer
from dpgeo.artefacts import map_array, preview, statement
from dpgeo.artefacts.files import FORMATS, files_instead
from dpgeo.core.encodings import accepts_gzip
from dpgeo.datasets.storage import StoredFileMissing, open_span, open_stored, reported_if_missing
from dpgeo.releases.file_making import WAIT_SECONDS, file_want
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.selectors import FileUnmade, StoredFile, stored_file
from dpgeo.releases.states import PUBLIC

NEVER = "private, no-store"

SMALL = 1 << 18
"""Files of at most this many bytes are read into memory instead of streamed."""

INLINE = (".bin", ".json", ".png")
"""Suffixes of the files that browsers should display; all other files are downloaded."""

MEDIA_TYPES = (
    *(layer_format.media_type for layer_format in FORMATS),
    map_array.MEDIA_TYPE,
    preview.MEDIA_TYPE,
    statement.MEDIA_TYPE,
)

HEADERS = [
    OpenApiParameter("ETag", str, "header", response=[200, 304], description="Changes never."),
    OpenApiParameter(
        "Content-Range", str, "header", response=[206], description="Which bytes, of how many."
    ),
]


def content_of(media_type: str) -> dict[str, str]:
    """Return the JSON Schema for the content of files with this media type."""
    essence = media_type.partition(";")[0]
    if essence == "application/json" or essence.endswith("+json"):
        return {"type": "object"}
    if essence.startswith("text/"):
        return {"type": "string"}
    return {"type": "string", "format": "binary"}


@dataclass(frozen=True, slots=True)
class Span:
    """A range of bytes of a file, from the offset `first` to the offset `last`, both included."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


class Unsatisfiable(Exception):
    """Raised for a range that contains no byte of the file."""


class ReleaseFileView(ApiView):
    """One file of a release.

    It has no rate limit, because counting a request would cost more than serving the file.
    """

    counted = False

    @operation(
        "release_file",
        "Get a file",
        tag="releases",
        parameters=[
            OpenApiParameter("Range", str, "header", description="One range of bytes."),
            OpenApiParameter("If-None-Match", str, "header", description="The ETag of your copy."),
            *HEADERS,
        ],
        responses={
            **{(200, form): OpenApiResponse(content_of(form), "The file") for form in MEDIA_TYPES},
            206: OpenApiResponse(description="A part of it, of the file's media type"),
            304: OpenApiResponse(description="Your copy is current"),
        },
        errors=[202, 400, 404, 409, 410, 416],
        usual=False,
    )
    def get(self, request: Request, release_id: str, name: str) -> HttpResponseBase:
        """Get a whole file, gzipped if the client accepts that, or one range of its bytes.

        A file whose checksum is null in the release's list is made when it is first asked for.
        While it is being made, the response is 202 with `Retry-After`. A HEAD request does not
        start this.
        """
        release = get_release(request, release_id)
        check_served(release)
        plain = request._request
        try:
            return serve(plain, file_of(request, release, name))
        except StoredFileMissing:
            # The file was moved to the public storage after the lookup above, so look it up again.
            return serve(plain, file_of(request, release, name))


def serve(request: HttpRequest, stored: StoredFile) -> HttpResponseBase:
    """Return the response that sends a stored file.

    Raises StoredFileMissing, also if the file was moved since `stored` was read.
    """
    compressed = bool(
        stored.gzip_name and "Range" not in request.headers and accepts_gzip(request.headers)
    )
    etag = f'"{stored.sha256}-gzip"' if compressed else f'"{stored.sha256}"'
    headers = _headers(stored, etag)
    known = get_conditional_response(request, etag=etag)
    if known is not None:
        return _with(known, {name: headers[name] for name in ("ETag", "Cache-Control", "Vary")})
    if compressed:
        return _whole(request, stored, stored.gzip_name, headers | {"Content-Encoding": "gzip"})
    try:
        span = wanted_span(request, etag, stored.size)
    except Unsatisfiable:
        return _beyond_the_end(stored.size)
    return _part(stored, span, headers) if span else _whole(request, stored, stored.name, headers)


def wanted_span(request: HttpRequest, etag: str, size: int) -> Span | None:
    """Return the range of bytes that a GET requests, or None for the whole file.

    A Range header with several ranges, another unit or a syntax error is ignored, as RFC 9110
    allows. Raises Unsatisfiable for a range beyond the end of the file.
    """
    header = request.headers.get("Range", "")
    match = re.fullmatch(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", header, re.ASCII)
    if request.method != "GET" or match is None or match.groups() == ("", ""):
        return None
    if request.headers.get("If-Range", etag) != etag:
        return None
    first, last = match.groups()
    if first and last and int(first) > int(last):
        return None
    if not first:
        span = Span(max(0, size - int(last)), size - 1)
    else:
        span = Span(int(first), min(int(last), size - 1) if last else size - 1)
    if span.length < 1:
        raise Unsatisfiable
    return span


class _Slice:
    """A file object that reads at most `span.length` bytes of an open file."""

    def __init__(self, file: IO[bytes], span: Span) -> None:
        self._file = file
        self._left = span.length

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, or b"" at the end.

        At most `size` bytes are returned, unless `size` is negative.
        """
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted)
        self._left -= len(data)
        return data

    def close(self) -> None:
        self._file.close()


def get_release(request: Request, release_id: str) -> Release:
    """Return a release if the requester may see it. Raises Http404 or Gone otherwise.

    The request is authenticated only if the release is not public.
    """
    public = Release.objects.filter(pk=release_id, state__in=PUBLIC)
    release = public.only("state", "title").first()
    if release is not None:
        return release
    return release_seen(request_viewer(request), release_id)


def file_of(request: Request, release: Release, name: str) -> StoredFile:
    """Return a stored file of a release.

    Raises Refused (202) if the file is not made yet; unless the request is a HEAD, this also starts
    the making of the file. Raises Http404 if there is no such file, or NotFound if the layer was
    too large for the file's format; that error names the file to use instead. Raises Conflict if
    the file cannot be made.
    """
    if not re.fullmatch(r"[\w.-]{1,100}", name, re.ASCII):
        raise Http404
    try:
        return stored_file(release, name)
    except FileUnmade as unmade:
        if request.method != "HEAD":
            file_want(file=unmade.file)
        raise Refused(BEING_MADE, wait=WAIT_SECONDS) from None
    except ReleaseFile.DoesNotExist:
        existing = list(release.files.values_list("name", flat=True))
        if instead := files_instead(name, existing):
            raise exceptions.NotFound(
                f"This layer has too many features for this format; take {instead}."
            ) from None
        raise Http404 from None


def cache_control(public: bool) -> str:
    """Return the Cache-Control header of a file; caches may store it only if it is `public`.

    Published files never change, but a release can be withdrawn. After DPGEO_CACHE_SECONDS every
    cache must therefore revalidate its copy; the response to that is 304 as long as the release is
    published.
    """
    if not public:
        return NEVER
    seconds = settings.DPGEO_CACHE_SECONDS
    return f"public, max-age={seconds}, s-maxage={seconds}, must-revalidate"


def _headers(stored: StoredFile, etag: str) -> dict[str, str]:
    return {
        "ETag": etag,
        # This header is for the proxy in front of the site, which does not pass it on
        # (`deploy/nginx.conf`).
        **({"X-Accel-Expires": "1"} if stored.published else {}),
        "Content-Type": stored.media_type,
        "Cache-Control": cache_control(stored.published),
        "Content-Disposition": disposition(stored.title, stored.file_name),
        "Accept-Ranges": "bytes",
        "Vary": "Accept-Encoding",
    }


@functools.lru_cache(maxsize=4096)
def disposition(title: str, name: str) -> str:
    """Return the Content-Disposition header for a file.

    It says whether the browser shows or saves the file, and under which name.
    """
    disposition = "inline" if name.endswith(INLINE) else "attachment"
    saved_as = "-".join(filter(None, (slugify(title)[:60], name)))
    return f'{disposition}; filename="{saved_as}"'


def _whole(
    request: HttpRequest, stored: StoredFile, name: str, headers: dict[str, str]
) -> HttpResponseBase:
    """Return the response with the whole file `name`; only large files are streamed.

    `name` is the stored name of the plain file or of its gzipped copy.
    """
    small = stored.size <= SMALL
    if small and request.method != "HEAD":
        with open_stored(stored.storage, name) as file:
            content = file.read()
        return _with(HttpResponse(content), headers | {"Content-Length": str(len(content))})
    # This also asks for a size that is known, so that a HEAD finds a missing file, as a GET does.
    with reported_if_missing(stored.storage, name):
        size = stored.storage.size(name)
    headers = headers | {"Content-Length": str(size)}
    if request.method == "HEAD":
        return _with(HttpResponse(), headers)
    body: Any = open_span(stored.storage, name, 0, size - 1)
    return _with(FileResponse(body), headers)


def _part(stored: StoredFile, span: Span, headers: dict[str, str]) -> HttpResponseBase:
    part: Any = _Slice(open_span(stored.storage, stored.name, span.first, span.last), span)
    content_range = f"bytes {span.first}-{span.last}/{stored.size}"
    more = {"Content-Range": content_range, "Content-Length": str(span.length)}
    return _with(FileResponse(part, status=206), headers | more)


def _beyond_the_end(size: int) -> HttpResponse:
    return answer(
        RANGE,
        f"The range starts beyond the end of the file, which has {size} bytes.",
        field="Range",
        headers={"Content-Range": f"bytes */{size}"},
    )


def _with(response: HttpResponseBase, headers: Mapping[str, str]) -> HttpResponseBase:
    for name, value in headers.items():
        response.headers[name] = value
    return response
