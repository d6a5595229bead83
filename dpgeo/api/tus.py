"""Resumable uploads with the tus protocol, version 1.0.0.

The extensions creation, expiration and termination are supported. A transfer is complete when its
last byte has arrived; it then becomes the upload with the same id. See
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
from dpgeo.api.answers import address_of
from dpgeo.api.base import PREFLIGHT_HEADERS, ApiView
from dpgeo.api.idempotency import SAME_FILE
from dpgeo.api.openapi import operation
from dpgeo.api.problems import PRECONDITION_FAILED, Refused
from dpgeo.api.request_bodies import body_length, read_body
from dpgeo.api.uploads import (
    OFFSET,
    UPLOADING,
    announced_id,
    check_size,
    discard,
    find_upload_or_transfer,
    read_count,
)
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.models import Transfer, Upload
from dpgeo.datasets.orphan_files import SAFE_AGE
from dpgeo.datasets.previews import upload_look
from dpgeo.datasets.resumable_uploads import transfer_append, transfer_begin, transfer_complete

VERSION = "1.0.0"
LENGTH = "Upload-Length"
METADATA = "Upload-Metadata"
MEDIA_TYPE = "application/offset+octet-stream"

PROTOCOL = OpenApiParameter(
    "Tus-Resumable",
    str,
    "header",
    required=True,
    enum=[VERSION],
    description="The version of the protocol.",
)


class TusView(ApiView):
    scopes: ClassVar = UPLOADING

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Return the headers that state the protocol's version and forbid caching."""
        spoken = {"Tus-Resumable": VERSION, "Tus-Version": VERSION, "Cache-Control": "no-store"}
        return {**super().default_response_headers, **spoken}

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Treat a POST as the method named in its header X-HTTP-Method-Override.

        The method is PATCH or DELETE; some clients can only send POST.
        """
        named = request.headers.get("X-HTTP-Method-Override", "").upper()
        if request.method == "POST" and named in {"PATCH", "DELETE"}:
            request.method = named
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise Refused if the client's version of the protocol is not supported."""
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS" and request.headers.get("Tus-Resumable") != VERSION:
            raise Refused(PRECONDITION_FAILED)

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Respond with the supported extensions and the largest file size; needs no API key."""
        able = {
            "Tus-Extension": "creation,expiration,termination",
            "Tus-Max-Size": str(settings.DPGEO_MAX_UPLOAD_BYTES),
        }
        return Response(status=204, headers={**PREFLIGHT_HEADERS, **able})


class TusUploadsView(TusView):
    @operation(
        "tus_create",
        "Announce a file by tus",
        tag="uploads",
        status=201,
        parameters=[
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
            SAME_FILE,
        ],
        responses={201: OpenApiResponse(description="Created")},
        errors=[409, 412, 413, 415, 507],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Announce a file, whose bytes are then sent to the URL in the header Location.

        Tus clients do both automatically. The same URL without the final `/tus` is the upload
        itself, where the file's columns can be previewed and confirmed.
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
            transfer_id=announced_id(request, dataset),
        )
        headers = {"Location": address_of(request, "api:tus-upload", transfer.pk)}
        return Response(status=201, headers=headers | expiry(transfer))


class TusUploadView(TusView):
    def head(self, request: Request, upload_id: UUID) -> Response:
        """Respond with the number of bytes received; complete a file that has all its bytes."""
        file = self._completed(find_upload_or_transfer(self.actor, upload_id))
        name = base64.b64encode(file.file_name.encode()).decode()
        headers = {LENGTH: str(file.size), METADATA: f"filename {name}"}
        return Response(headers=headers | standing(file))

    @operation(
        "tus_append",
        "Send bytes by tus",
        tag="uploads",
        status=204,
        parameters=[
            PROTOCOL,
            OpenApiParameter(
                OFFSET, int, "header", required=True, description="Bytes sent before these."
            ),
        ],
        request={MEDIA_TYPE: {"type": "string", "format": "binary"}},
        responses={204: OpenApiResponse(description="Stored")},
        errors=[409, 411, 412, 415, 507],
    )
    def patch(self, request: Request, upload_id: UUID) -> Response:
        """Send the next bytes of the file, any number at a time.

        After an interruption, send HEAD: its header Upload-Offset has the number of bytes received.
        """
        file = find_upload_or_transfer(self.actor, upload_id)
        media_type = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        if media_type != MEDIA_TYPE:
            raise UnsupportedMediaType(media_type, f"Send bytes as Content-Type: {MEDIA_TYPE}.")
        offset, length = (
            read_count(request, OFFSET, "how many bytes come before"),
            body_length(request),
        )
        if isinstance(file, Upload):
            raise Conflict("All {size} bytes have arrived; the file is complete.", size=file.size)
        body: Any = request._request
        transfer_append(transfer=file, offset=offset, stream=body, length=length)
        return Response(status=204, headers=standing(self._completed(file)))

    @operation(
        "tus_delete",
        "Discard a file by tus",
        tag="uploads",
        parameters=[PROTOCOL],
        responses={204: OpenApiResponse(description="Deleted")},
        errors=[409, 412, 415],
    )
    def delete(self, request: Request, upload_id: UUID) -> Response:
        """Delete the bytes received so far. A file that is being read or was read is kept."""
        read_body(request)
        discard(self.actor, upload_id)
        return Response(status=204)

    def _completed(self, file: Upload | Transfer) -> Upload | Transfer:
        """Return `file`, or the new upload if `file` is a transfer with all its bytes."""
        if isinstance(file, Upload) or file.offset < file.size:
            return file
        return upload_look(upload=transfer_complete(transfer=file, by=self.actor))


def standing(file: Upload | Transfer) -> dict[str, str]:
    """Return headers with the number of bytes received and, for a transfer, when it expires."""
    if isinstance(file, Upload):
        return {OFFSET: str(file.size)}
    return {OFFSET: str(file.offset), **expiry(file)}


def expiry(file: Upload | Transfer) -> dict[str, str]:
    """Return a header with the time when a transfer is deleted, or {} for an upload."""
    if isinstance(file, Upload):
        return {}
    return {"Upload-Expires": http_date((file.touched_at + SAFE_AGE).timestamp())}


def read_file_name(metadata: str) -> str:
    """Return the file's name from the tus header Upload-Metadata.

    Raises InvalidInput if the header has no readable name.
    """
    pairs = (pair.strip().partition(" ") for pair in metadata.split(","))
    values = {key: value for key, _, value in pairs if value}
    try:
        return base64.b64decode(values["filename"], validate=True).decode()
    except (KeyError, ValueError):
        raise InvalidInput(
            "Must hold the word filename, a space, and the file's name as UTF-8 in Base64.",
            field=METADATA,
        ) from None
