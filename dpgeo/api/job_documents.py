"""How jobs and uploads appear to keys: queued, running, done, and nothing else.

A job that failed or was cancelled is "done" without a result. That there is none cannot be hidden
from whoever may publish it, and a program has to stop waiting; so much is said, and no more. Why
it failed, at which step, after how long, how often it was tried, and whether it failed or was
cancelled depend on the private data or may (a file too large for the machine's memory), cost no
epsilon and could be asked for again and again: they are shown at the desk, to people who may see
private facts. For the same reason there are no times and no progress here.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework.request import Request

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import organisations_of
from dpgeo.api.documents import address_of
from dpgeo.datasets.models import Transfer, Upload, UploadState
from dpgeo.datasets.selectors import uploads_visible_to
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release

SHOWN = {JobState.QUEUED: "queued", JobState.RUNNING: "running"}
"""Every other state is "done"."""

JOB_STATES = ("queued", "running", "done")
UPLOAD_STATES = ("receiving", "received", *JOB_STATES)


def job_document(request: Request, user: User, job_id: UUID) -> dict[str, Any]:
    """A job of the organisations that `user` acts for. Raises Http404 for any other."""
    release = (
        Release.objects.filter(job_id=job_id, dataset__organisation__in=organisations_of(user))
        .select_related("job")
        .first()
    )
    if release:
        return document_of(request, release)
    upload = uploads_visible_to(user).filter(job_id=job_id).first()
    if upload is None or upload.job is None:
        raise Http404
    address = address_of(request, "api:upload", upload.pk)
    ready = upload.state == UploadState.READY
    return _document(request, upload.job, "upload", address, has_result=ready)


def document_of(request: Request, release: Release) -> dict[str, Any]:
    """The job of a release."""
    address = address_of(request, "api:release", release.pk)
    has_result = release.job.state == JobState.DONE
    return _document(request, release.job, "release", address, has_result=has_result)


def upload_document(request: Request, upload: Upload) -> dict[str, Any]:
    """An upload that is whole."""
    return {
        "id": str(upload.pk),
        "url": address_of(request, "api:upload", upload.pk),
        "dataset": upload.dataset.slug,
        "file_name": upload.file_name,
        "size": upload.size,
        "offset": upload.size,
        "state": _upload_state(upload),
        "usable": upload.state == UploadState.READY,
        "job_url": address_of(request, "api:job", upload.job_id) if upload.job_id else None,
    }


def transfer_document(request: Request, transfer: Transfer, slug: str) -> dict[str, Any]:
    """An upload of which bytes are missing."""
    return {
        "id": str(transfer.id),
        "url": address_of(request, "api:upload", transfer.id),
        "dataset": slug,
        "file_name": transfer.file_name,
        "size": transfer.size,
        "offset": transfer.offset,
        "state": "receiving",
        "usable": False,
        "job_url": None,
    }


def _upload_state(upload: Upload) -> str:
    if upload.job is None:
        return "received" if upload.state == UploadState.RECEIVED else "done"
    return SHOWN.get(JobState(upload.job.state), "done")


def _document(
    request: Request, job: Job, kind: str, address: str, *, has_result: bool
) -> dict[str, Any]:
    return {
        "id": str(job.pk),
        "url": address_of(request, "api:job", job.pk),
        "state": SHOWN.get(JobState(job.state), "done"),
        "release_url": address if kind == "release" else None,
        "upload_url": address if kind == "upload" else None,
        "has_result": has_result,
    }
