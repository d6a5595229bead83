"""Files by API: announced, sent in as many pieces as it takes, looked at, confirmed."""

from __future__ import annotations

import re
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope, User
from dpgeo.accounts.selectors import may
from dpgeo.api.access import own_dataset
from dpgeo.api.base import DocumentView
from dpgeo.api.member_serializers import PreviewSerializer, UploadSerializer
from dpgeo.api.openapi import BODY, in_path, linked, operation
from dpgeo.api.problems import LengthRequired, TooLarge
from dpgeo.api.request_bodies import Body, Members, Text, Whole, body_length, read_body
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.models import Transfer, Upload
from dpgeo.datasets.resumable_uploads import (
    transfer_append,
    transfer_begin,
    transfer_complete,
    transfer_discard,
)
from dpgeo.datasets.selectors import datasets_visible_to, uploads_visible_to
from dpgeo.datasets.uploads import upload_confirm, upload_discard, upload_look, upload_preview
from dpgeo.ingest.schema import Columns

SLUG = in_path("slug", "The dataset's short name.")
UPLOAD_ID = in_path("upload_id", "The upload's id.", UUID)

OFFSET = "Upload-Offset"

UPLOADING = dict.fromkeys(("GET", "POST", "PATCH", "DELETE"), Scope.UPLOADS_WRITE)


class Announcement(Body):
    """A file that is going to be sent."""

    file_name = Text(
        "The file's name; its ending tells the format.",
        schema={"type": "string", "maxLength": 255},
    )
    size = Whole("Its length in bytes.", schema={"type": "integer", "minimum": 1})


class Confirmation(Body):
    """The columns of a file."""

    columns = Members(
        "Which column holds what: longitude and latitude, or geometry; person where the dataset "
        "protects persons; time if there is one; crs if it is not EPSG:4326.",
        schema={"type": "object", "additionalProperties": {"type": "string"}},
    )


class UploadsView(DocumentView):
    """Where the files of a dataset are announced."""

    scopes: ClassVar = UPLOADING

    @operation(
        "upload_begin",
        "Announce a file",
        UploadSerializer,
        deprecated=True,
        tag="uploads",
        status=201,
        parameters=[SLUG],
        body=Announcement,
        errors=[409],
        links=linked(["upload", "upload_append", "upload_discard"], upload_id=f"{BODY}/id"),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Then send its bytes to the address that comes back, from offset 0."""
        dataset = own_dataset(self.actor, slug, "upload")
        asked = read_body(request, Announcement)
        check_size(asked["size"])
        transfer = transfer_begin(dataset=dataset, by=self.actor, **asked)
        return upload_answer(request, transfer, status=201)


class UploadView(DocumentView):
    """One file: how far it is, and where its bytes go."""

    scopes: ClassVar = UPLOADING

    @operation("upload", "Get an upload", UploadSerializer, tag="uploads", parameters=[UPLOAD_ID])
    def get(self, request: Request, upload_id: UUID) -> Response:
        """How many bytes have arrived, also in the header Upload-Offset; a HEAD suffices."""
        return upload_answer(request, find_upload_or_transfer(self.actor, upload_id))

    @operation(
        "upload_append",
        "Send bytes",
        UploadSerializer,
        deprecated=True,
        tag="uploads",
        parameters=[
            UPLOAD_ID,
            OpenApiParameter(
                OFFSET, int, "header", required=True, description="Bytes sent before these."
            ),
        ],
        request={"application/octet-stream": {"type": "string", "format": "binary"}},
        errors=[409, 411],
        links=linked(["upload", "upload_append", "upload_complete"], upload_id=f"{BODY}/id"),
    )
    def patch(self, request: Request, upload_id: UUID) -> Response:
        """Any number at a time. After an interruption ask for the offset and go on from there."""
        found = find_upload_or_transfer(self.actor, upload_id)
        if isinstance(found, Upload):
            raise Conflict("This file is complete already; read its address.")
        length = body_length(request)
        if not length:
            raise LengthRequired
        offset = read_count(request, OFFSET, "how many bytes were sent before these")
        body: Any = request._request
        transfer_append(transfer=found, offset=offset, stream=body, length=length)
        return upload_answer(request, found)

    @operation(
        "upload_discard",
        "Give a file up",
        tag="uploads",
        parameters=[UPLOAD_ID],
        responses={204: OpenApiResponse(description="Gone")},
        errors=[409],
    )
    def delete(self, request: Request, upload_id: UUID) -> Response:
        """Deletes what has arrived of it. What was read stays on record."""
        read_body(request)
        discard(self.actor, upload_id)
        return Response(status=204)


class UploadCompleteView(DocumentView):
    """The end of a transfer."""

    scopes: ClassVar = UPLOADING

    @operation(
        "upload_complete",
        "Complete an upload",
        UploadSerializer,
        deprecated=True,
        tag="uploads",
        parameters=[UPLOAD_ID],
        errors=[409],
        links=linked(
            ["upload", "upload_preview", "upload_confirm", "upload_discard"],
            upload_id=f"{BODY}/id",
        ),
    )
    def post(self, request: Request, upload_id: UUID) -> Response:
        """Say that all bytes are sent. Saying it again changes nothing."""
        read_body(request)
        found = find_upload_or_transfer(self.actor, upload_id)
        if isinstance(found, Transfer):
            found = upload_look(upload=transfer_complete(transfer=found, by=self.actor))
        return upload_answer(request, found)


class UploadPreviewView(DocumentView):
    """The columns of a file."""

    scopes: ClassVar = UPLOADING

    @operation(
        "upload_preview",
        "Look at the columns of a file",
        PreviewSerializer,
        tag="uploads",
        parameters=[UPLOAD_ID],
        errors=[409],
    )
    def get(self, request: Request, upload_id: UUID) -> Response:
        """Their names, and which probably holds what. Rows are shown at the desk alone."""
        preview = upload_preview(upload=whole_upload(self.actor, upload_id))
        return self.answer(self.write(PreviewSerializer, preview), personal=True)


class UploadConfirmView(DocumentView):
    """Where the columns of a file are confirmed."""

    scopes: ClassVar = UPLOADING

    @operation(
        "upload_confirm",
        "Confirm the columns",
        UploadSerializer,
        tag="uploads",
        status=202,
        parameters=[UPLOAD_ID],
        body=Confirmation,
        errors=[409],
    )
    def post(self, request: Request, upload_id: UUID) -> Response:
        """Starts the job that reads the rows. The first confirmation fixes what was declared."""

        upload = whole_upload(self.actor, upload_id)
        columns = Columns.from_json(read_body(request, Confirmation)["columns"])
        upload_confirm(upload=upload, columns=columns, confirmed_by=self.actor)
        return upload_answer(request, upload, status=202)


def find_upload_or_transfer(user: User, upload_id: UUID) -> Upload | Transfer:
    """An upload, or the transfer that is to become it. Raises Http404 for another's as for none."""
    upload = uploads_visible_to(user).filter(pk=upload_id).first()
    if upload and may(user, upload.dataset, "upload"):
        return upload
    transfer = None if upload else Transfer.objects.filter(pk=upload_id).first()
    if transfer:
        dataset = datasets_visible_to(user).filter(pk=transfer.dataset_id).first()
        if dataset and may(user, dataset, "upload"):
            transfer.dataset = dataset
            return transfer
    raise Http404


def whole_upload(user: User, upload_id: UUID) -> Upload:
    """An upload that is complete. Raises Http404, and Conflict where bytes are missing."""
    found = find_upload_or_transfer(user, upload_id)
    if isinstance(found, Transfer):
        raise Conflict("Bytes are missing; send them and complete the upload first.")
    return found


def discard(user: User, upload_id: UUID) -> None:
    """Give up a file on its way, or remove an upload. Raises Http404 and Conflict."""
    found = find_upload_or_transfer(user, upload_id)
    if isinstance(found, Transfer):
        transfer_discard(transfer=found)
    else:
        upload_discard(upload=found, by=user)


def check_size(size: int, field: str = "size") -> None:
    """Raise TooLarge before a byte was sent."""
    limit = settings.DPGEO_MAX_UPLOAD_BYTES
    if size > limit:
        raise TooLarge(
            f"The file is larger than the {limit:,} bytes allowed here; split it, or compress it "
            "as Parquet.",
            field=field,
        )


def read_count(request: Request, header: str, meaning: str) -> int:
    """A number of bytes from a header. Raises InvalidInput."""
    given = request.headers.get(header, "")
    if not re.fullmatch(r"[0-9]{1,15}", given):
        raise InvalidInput(f"Say {meaning}, such as 0.", field=header)
    return int(given)


def upload_answer(request: Request, file: Upload | Transfer, status: int = 200) -> Response:
    """A file, with its offset as a header."""
    document = UploadSerializer(context={"request": request}).to_representation(file)
    headers = {
        "Cache-Control": "private, no-store",
        OFFSET: str(document["offset"]),
        "Upload-Length": str(document["size"]),
    }
    if status == 201:
        headers["Location"] = document["url"]
    return Response(document, status=status, headers=headers)
