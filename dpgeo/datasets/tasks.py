"""Celery task that ingests an uploaded file."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Upload
from dpgeo.datasets.uploads import INGEST_TASK


@shared_task(name=INGEST_TASK)  # type: ignore[untyped-decorator]
def ingest(job_id: str) -> None:
    """Ingest the upload of a job; do nothing if the upload belongs to another job by now."""
    upload = Upload.objects.filter(job_id=UUID(job_id)).first()
    if upload is not None:
        upload_ingest(upload_id=upload.pk)
