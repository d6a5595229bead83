"""Receivers of signals about jobs, such as the signal that a job has failed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from dpgeo.datasets.uploads import upload_mark_failed
from dpgeo.jobs.signals import job_failed


def mark_failed(sender: object, job_id: UUID, **_: Any) -> None:
    """Mark the upload of a failed job as failed."""
    upload_mark_failed(job_id=job_id)


def connect() -> None:
    """Connect the receivers in this module to the jobs' signals."""
    job_failed.connect(mark_failed, dispatch_uid="datasets.mark_failed")
