"""Views of uploads: listing, previewing, confirming and discarding files (`tus` receives them)."""

from __future__ import annotations

import re
from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope, User
from dpgeo.accounts.selectors import may
from dpgeo.api.access import (
    check_settled,
    is_key,
    is_settled,
    jobs_of,
    one_job_at_a_time,
    own_dataset,
)
from dpgeo.api.base import DocumentView
from dpgeo.api.idempotency import IDEMPOTENCY_KEY, id_named, read_idempotency_key
from dpgeo.api.member_answers import (
    OpenUploadsOut,
    PreviewOut,
    UploadOut,
    preview_answer,
    upload_answer,
)
from dpgeo.api.openapi import operation
from dpgeo.api.problems import INSUFFICIENT_STORAGE, RETRY_SECONDS, TOO_LARGE, Refused
from dpgeo.api.request_bodies import read_body
from dpgeo.core.declared import Declared, Members, fact
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.models import Dataset, Transfer, Upload
from dpgeo.datasets.previews import upload_key_preview, upload_preview
from dpgeo.datasets.resumable_uploads import (
    files_open,
    transfer_discard,
)
from dpgeo.datasets.selectors import datasets_visible_to, uploads_visible_to
from dpgeo.datasets.uploads import check_name_fits, upload_confirm, upload_discard, upload_retry
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.outages import Outage

OFFSET = "Upload-Offset"

UPLOADING = dict.fromkeys(("GET", "POST", "PATCH", "DELETE"), Scope.UPLOADS_WRITE)


class Confirmation(Declared):
    """Request body that confirms the columns of a file."""

    columns: Members = fact(
        "The columns by role: longitude and latitude, or geometry; person if the dataset protects "
        "persons; time if there is one; crs if it is not EPSG:4326; file_format if the file's name "
        "does not tell it.",
        schema={"type": "object", "additionalProperties": {"type": "string"}},
    )


class UploadsView(DocumentView):
    scopes: ClassVar = UPLOADING

    @operation("uploads", "List open files", OpenUploadsOut, tag="uploads")
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List the files still being uploaded, then those without confirmed columns.

        Each group is sorted newest first; at most 500 files are listed. An API key sees only the
        files that it announced. To abandon a file, send DELETE to its URL.
        """
        dataset = own_dataset(self.actor, slug, "upload")
        files = files_open(dataset, self.actor.acting_key)
        results = [upload_answer(file, request) for file in files]
        return self.answer(OpenUploadsOut(results=results), personal=True)


class UploadView(DocumentView):
    scopes: ClassVar = UPLOADING

    @operation("upload", "Get an upload", UploadOut, tag="uploads")
    def get(self, request: Request, upload_id: UUID) -> HttpResponse:
        """Get an upload and the number of bytes received."""
        file = find_upload_or_transfer(self.actor, upload_id)
        return self.answer(upload_answer(file, request), personal=True)

    @operation(
        "upload_discard",
        "Discard a file",
        tag="uploads",
        responses={204: OpenApiResponse(description="Deleted")},
        errors=[409],
    )
    def delete(self, request: Request, upload_id: UUID) -> HttpResponse:
        """Delete the bytes received so far. A file that is being read or was read is kept."""
        read_body(request)
        discard(self.actor, upload_id)
        return Response(status=204)


class UploadPreviewView(DocumentView):
    scopes: ClassVar = UPLOADING

    @operation(
        "upload_preview",
        "Get the columns of a file",
        PreviewOut,
        tag="uploads",
        errors=[409],
    )
    def get(self, request: Request, upload_id: UUID) -> HttpResponse:
        """Get the names of a file's columns and a guess at their roles.

        For an API key, the list of names is empty unless the file's name shows that its format has
        a header. In other formats the names are part of the rows, which are shown only on the
        members' pages (the desk).
        """
        upload = whole_upload(self.actor, upload_id)
        check_settled(self.actor, jobs_of(upload.dataset))
        look = upload_key_preview if is_key(self.actor) else upload_preview
        return self.answer(preview_answer(look(upload=upload)), personal=True)


class UploadConfirmView(DocumentView):
    scopes: ClassVar = UPLOADING

    @operation(
        "upload_confirm",
        "Confirm the columns",
        UploadOut,
        tag="uploads",
        status=202,
        body=Confirmation,
        errors=[409],
    )
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        """Confirm the columns, and start the job that reads the rows.

        After the first confirmation, the dataset's declaration is fixed.
        """
        upload = whole_upload(self.actor, upload_id)
        columns = Columns.from_json(read_body(request, Confirmation).columns)
        by_key = is_key(self.actor)
        check_settled(self.actor, jobs_of(upload.dataset))
        if by_key:
            check_name_fits(upload, columns)
        with one_job_at_a_time(self.actor, upload.dataset.organisation_id):
            upload_confirm(upload=upload, columns=columns, by_key=by_key)
        return self.answer(upload_answer(upload, request), status=202, personal=True)


class UploadRetryView(DocumentView):
    scopes: ClassVar = UPLOADING

    @operation(
        "upload_retry",
        "Read a file again",
        UploadOut,
        tag="uploads",
        status=202,
        errors=[409],
    )
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        """Restart the job that reads a file, if the job ended without a result.

        Repeating this changes nothing.
        """
        read_body(request)
        upload = whole_upload(self.actor, upload_id)
        if is_settled(self.actor, jobs_of(upload.dataset)):
            with one_job_at_a_time(self.actor, upload.dataset.organisation_id):
                upload = upload_retry(upload=upload, by_key=is_key(self.actor))
        return self.answer(upload_answer(upload, request), status=202, personal=True)


def announced_id(request: Request, dataset: Dataset) -> UUID | None:
    """Return the id of the file that a request announces, computed from its idempotency key.

    Returns None if the request has no idempotency key. Raises InvalidInput if the key is malformed.
    """
    if IDEMPOTENCY_KEY not in request.headers:
        return None
    return id_named(dataset, "upload", read_idempotency_key(request))


def find_upload_or_transfer(user: User, upload_id: UUID) -> Upload | Transfer:
    """Return the upload or unfinished transfer with an id. Raises Http404 if there is none.

    Also raises Http404 if `user` may not upload files to the dataset, or if an API key asks for a
    file that it did not send itself. What others send is private, even its first line.
    """
    key = user.acting_key
    sent = Q(pk=upload_id, key=key) if key else Q(pk=upload_id)
    upload = uploads_visible_to(user).filter(sent).first()
    if upload and may(user, upload.dataset, "upload"):
        return upload
    transfer = None if upload else Transfer.objects.filter(sent).first()
    if transfer:
        dataset = datasets_visible_to(user).filter(pk=transfer.dataset_id).first()
        if dataset and may(user, dataset, "upload"):
            transfer.dataset = dataset
            return transfer
    raise Http404


def whole_upload(user: User, upload_id: UUID) -> Upload:
    """Return the complete upload with this id.

    Raises Http404 if there is none, or Conflict if bytes are missing.
    """
    file = find_upload_or_transfer(user, upload_id)
    if isinstance(file, Transfer):
        raise Conflict("Bytes are missing; send them first.")
    return file


def discard(user: User, upload_id: UUID) -> None:
    """Delete the transfer or upload with this id.

    Raises Http404 if there is none, or Conflict if it cannot be deleted.
    """
    file = find_upload_or_transfer(user, upload_id)
    if isinstance(file, Transfer):
        transfer_discard(transfer=file)
    else:
        check_settled(user, jobs_of(file.dataset))
        upload_discard(upload=file, by=user)


def check_size(size: int, field: str) -> None:
    """Raise Refused if a file is larger than allowed, or if there is no space for it.

    Twice the file's size must be free, because the parts still exist while they are joined into one
    file. `field` is the field or header that is named.
    """
    limit = settings.DPGEO_MAX_UPLOAD_BYTES
    if size > limit:
        raise Refused(
            TOO_LARGE,
            f"The file is larger than the {limit:,} bytes allowed here; split it, or compress it "
            "as Parquet.",
            field=field,
        )
    if read_disk_space().room < 2 * size:
        raise Refused(INSUFFICIENT_STORAGE, wait=RETRY_SECONDS[Outage.SPACE])


def read_count(request: Request, header: str, meaning: str) -> int:
    """Return the number of bytes stated in a header.

    Raises InvalidInput if the header is not a number; the error says what the number means.
    """
    given = request.headers.get(header, "")
    if not re.fullmatch(r"[0-9]{1,15}", given):
        raise InvalidInput("Must be {meaning}, such as 0.", meaning=meaning, field=header)
    return int(given)
