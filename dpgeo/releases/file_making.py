"""Files of releases that are made when somebody first asks for them, and then kept.

The site itself reads a few files of a release, which are made with it. Others, such as CSV or
GeoPackage, take longer to make than the release itself and twenty times the space, and most are
never fetched. They are listed with the release, and a worker makes one from the stored release when
it is first asked for. However many people ask, there is one job for a file: the job of the first
request, whose id is written into the file's row. A publisher may have them all made at
publication, except those with more than a million features.

Privacy argument. A file is a function of the released object, so making it, now or later, is
post-processing, and how long that takes depends on released values. It must not also depend on jobs
that read private data: a reader who asked for a file while such a job runs could learn from the
delay how long it runs. So these jobs have a queue and a worker of their own.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from dpgeo.artefacts.files import build_files
from dpgeo.core.errors import Conflict
from dpgeo.datasets.storage import work_folder
from dpgeo.jobs.lease import JobLease, job_run
from dpgeo.jobs.models import JobState
from dpgeo.jobs.services import job_create, job_retry, job_wake
from dpgeo.phrases import Phrase
from dpgeo.releases import files
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.selectors import load_released

MAKE_TASK = "releases.file"

WAIT_SECONDS = 3
"""Seconds after which somebody who asked for a file is told to ask again."""

TRIED_AGAIN_AFTER = timedelta(hours=1)
"""Time after which a file that could not be made is tried again, if somebody asks for it."""


def file_want(*, file: ReleaseFile) -> None:
    """Start the job that makes a file; do nothing if it is made or being made already.

    Raises Conflict if making the file failed less than TRIED_AGAIN_AFTER ago.
    """
    if file.job is not None:
        if file.job.state == JobState.FAILED:
            _try_again(file)
        return
    with transaction.atomic():
        # Nothing was debited for this job, so there is nothing to refund.
        job = job_create(task=MAKE_TASK, drawing=True)
        unclaimed = ReleaseFile.objects.filter(pk=file.pk, job=None, stored_name="")
        if unclaimed.update(job=job):
            job_wake(job=job)
        else:  # Another request has started a job for the file; undo the creation of this one.
            transaction.set_rollback(True)


def files_want(*, release: Release) -> None:
    """Start jobs that make a release's missing files, except those marked as `large`."""
    for file in release.files.filter(stored_name="", job=None, large=False):
        file_want(file=file)


def _try_again(file: ReleaseFile) -> None:
    job = file.job
    if job is None or job.finished_at is None:
        return
    if timezone.now() < job.finished_at + TRIED_AGAIN_AFTER:
        raise Conflict(
            "This file could not be made; the operator can find out why. Take another format, or "
            "ask again in an hour."
        )
    job_retry(job=job)


def file_run(*, job_id: UUID) -> bool:
    """Run the job that makes a file; return False if it cannot be leased."""
    return job_run(job_id=job_id, work=_work_on)


def _work_on(lease: JobLease) -> None:
    """Make the file that a leased job is for, unless it is made, or its release has ended."""
    file = (
        ReleaseFile.objects.filter(job_id=lease.job_id, stored_name="")
        .select_related("release")
        .first()
    )
    if file is None:
        return
    lease.step(Phrase("Writing files"))
    file_make(file)


def file_make(file: ReleaseFile) -> None:
    """Make a file from the stored release; move it to the public storage for a public release."""
    release = file.release
    with work_folder() as folder:
        for built in build_files(
            load_released(release), folder, lambda each: each.name == file.name
        ):
            files.keep_requested(file, built)
    release.refresh_from_db()
    if release.rules.public:
        files.make_public(release)
