"""Celery tasks that run the jobs of releases and of their files."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from dpgeo.releases.file_making import MAKE_TASK, file_run
from dpgeo.releases.models import Release
from dpgeo.releases.services import RUN_TASK, release_run


@shared_task(name=RUN_TASK)  # type: ignore[untyped-decorator]
def run(job_id: str) -> None:
    """Run the release job that has this id."""
    release = Release.objects.filter(job_id=UUID(job_id)).first()
    if release is not None:
        release_run(release_id=release.pk)


@shared_task(name=MAKE_TASK)  # type: ignore[untyped-decorator]
def make_file(job_id: str) -> None:
    """Run the job that makes a file."""
    file_run(job_id=UUID(job_id))
