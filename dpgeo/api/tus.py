"""Resumable uploads by the tus protocol, version 1.0.0: creation, expiration and termination.

A file whose last byte arrives is complete by that, and becomes the upload of the same id. See
https://tus.io/protocols/resumable-upload.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.http import HttpResponseBase
from django.utils.http import http_date
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.api.access import own_dataset
from dpgeo.api.base import PREFLIGHT_HEADERS, ApiView
from dpgeo.api.documents import address_of
from dpgeo.api.openapi import operation
from dpgeo.api.problems import PreconditionFailed
from dpgeo.api.request_bodies import body_length, read_body
from dpgeo.api.uploads import (
    OFFSET,
    SLUG,
    UPLOAD_ID,
    UPLOADING,
    check_size,
    discard,
    find_upload_or_transfer,
    read_count,
)
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.models import Transfer, Upload
from dpgeo.datasets.orphan_files import SAFE_AGE
from dpgeo.datasets.resumable_uploads import transfer_append, transfer_begin, transfer_complete
from dpgeo.datasets.uploads import upload_look

VERSION = "1.0.0"
LENGTH = "Upload-Length"
METADATA = "Upload-Metadata"
MEDIA_TYPE = "application/offset+octet-stream"

PROTOCOL = OpenApiParameter(
    "Tus-Resumable", str, "header", required=True, enum=[VERSION], description="The protocol."
)


class TusView(ApiView):
    """What the addresses of the protocol have in common."""

    scopes: ClassVar = UPLOADING

    @property
    def default_response_headers(self) -> dict[str, str]:
        """The version that is spoken, and nothing for a cache."""
        spoken = {"Tus-Resumable": VERSION, "Tus-Version": VERSION, "Cache-Control": "no-store"}
        return {**super().default_response_headers, **spoken}

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Take the method that a client names which cannot send it."""
        named = request.headers.get("X-HTTP-Method-Override", "").upper()
        if request.method == "POST" and named in {"PATCH", "DELETE"}:
            request.method = named
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Hold the client to the version. Raises PreconditionFailed."""
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS" and request.headers.get("Tus-Resumable") != VERSION:
            raise PreconditionFailed

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Say what the server can do, without a key."""
        able = {
            "Tus-Extension": "creation,expiration,termination",
            "Tus-Max-Size": str(settings.DPGEO_MAX_UPLOAD_BYTES),
        }
        return Response(status=204, headers={**PREFLIGHT_HEADERS, **able})


class TusUploadsView(TusView):
    """Where the files of a dataset are announced."""

    @operation(
        "tus_create",
        "Announce a file by tus",
        tag="uploads",
        status=201,
        parameters=[
            SLUG,
            PROTOCOL,
            OpenApiParameter(
                LENGTH, int, "header", required=True, description="The file's length in bytes."
            ),
            OpenApiParameter(
                METADATA,
                str,
                "header",
                required=True,
                description='"filename " and the file\'s name in Base64; its ending tells the '
                "format.",
            ),
        ],
        responses={201: OpenApiResponse(description="Begun")},
        errors=[409, 412, 413, 415],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Then send its bytes to the address in Location, as any tus 1.0.0 client does.

        That address without its last part, /tus, is the upload's, to be confirmed there.
        """
        dataset = own_dataset(self.actor, slug, "upload")
        read_body(request)
        size = read_count(request, LENGTH, "the file's length in bytes")
        check_size(size, LENGTH)
        transfer = transfer_begin(
            dataset=dataset,
            by=self.actor,
            size=size,
            file_name=read_file_name(request.headers.get(METADATA, "")),
        )
        headers = {"Location": address_of(request, "api:tus-upload", transfer.id)}
        return Response(status=201, headers=headers | expiry(transfer))


class TusUploadView(TusView):
    """Where the bytes of one file go."""

    def head(self, request: Request, upload_id: UUID) -> Response:
        """How many bytes have arrived; completes a file all of which arrived before a crash."""
        found = self._completed(find_upload_or_transfer(self.actor, upload_id))
        name = base64.b64encode(found.file_name.encode()).decode()
        told = {LENGTH: str(found.size), METADATA: f"filename {name}"}
        return Response(headers=told | standing(found))

    @operation(
        "tus_append",
        "Send bytes by tus",
        tag="uploads",
        status=204,
        parameters=[
            UPLOAD_ID,
            PROTOCOL,
            OpenApiParameter(
                OFFSET, int, "header", required=True, description="Bytes sent before these."
            ),
        ],
        request={MEDIA_TYPE: {"type": "string", "format": "binary"}},
        responses={204: OpenApiResponse(description="Kept")},
        errors=[409, 411, 412, 415],
    )
    def patch(self, request: Request, upload_id: UUID) -> Response:
        """Any number at a time. After an interruption HEAD tells in Upload-Offset how many came."""
        found = find_upload_or_transfer(self.actor, upload_id)
        media_type = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        if media_type != MEDIA_TYPE:
            raise UnsupportedMediaType(media_type, f"Send bytes as Content-Type: {MEDIA_TYPE}.")
        offset, length = (
            read_count(request, OFFSET, "how many bytes come before"),
            body_length(request),
        )
        if isinstance(found, Upload):
            raise Conflict(f"All {found.size} bytes have arrived; the file is complete.")
        body: Any = request._request
        transfer_append(transfer=found, offset=offset, stream=body, length=length)
        return Response(status=204, headers=standing(self._completed(found)))

    @operation(
        "tus_delete",
        "Give a file up by tus",
        tag="uploads",
        parameters=[UPLOAD_ID, PROTOCOL],
        responses={204: OpenApiResponse(description="Gone")},
        errors=[409, 412, 415],
    )
    def delete(self, request: Request, upload_id: UUID) -> Response:
        """Deletes what has arrived of it. What was read stays on record."""
        read_body(request)
        discard(self.actor, upload_id)
        return Response(status=204)

    def _completed(self, found: Upload | Transfer) -> Upload | Transfer:
        """The upload that a transfer is, once all its bytes are there."""
        if isinstance(found, Upload) or found.offset < found.size:
            return found
        return upload_look(upload=transfer_complete(transfer=found, by=self.actor))


def standing(found: Upload | Transfer) -> dict[str, str]:
    """The headers that say how far a file is, and until when the rest may come."""
    if isinstance(found, Upload):
        return {OFFSET: str(found.size)}
    return {OFFSET: str(found.offset), **expiry(found)}


def expiry(transfer: Transfer) -> dict[str, str]:
    """The header that says until when a file is kept to which nothing is added."""
    return {"Upload-Expires": http_date((transfer.touched_at + SAFE_AGE).timestamp())}


def read_file_name(metadata: str) -> str:
    """The file's name among a file's metadata. Raises InvalidInput."""
    pairs = (pair.strip().partition(" ") for pair in metadata.split(","))
    values = {key: value for key, _, value in pairs if value}
    try:
        return base64.b64decode(values["filename"], validate=True).decode()
    except (KeyError, ValueError):
        raise InvalidInput(
            "Name the file: filename, a space, and its name in Base64, as UTF-8.", field=METADATA
        ) from None
