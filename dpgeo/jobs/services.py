"""Writes on jobs. Each is one conditional UPDATE, so that any number of workers may race.

A worker takes a job by a lease, renews it while it lives, and loses it when it does not: then the
reaper wakes another. A job whose noise may have been drawn (`drawing`) is never refunded.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from structlog.contextvars import bound_contextvars, get_contextvars

from dpgeo.budgets.services import budget_refund
from dpgeo.core.errors import Conflict
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.phrase_field import store_phrase
from dpgeo.jobs.signals import job_failed
from dpgeo.phrases import Phrase

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)
"""How long a worker holds a job without a sign of life."""

WAKE_AFTER = timedelta(seconds=15)
"""A job that nobody works on is offered to the workers again after this long."""

LONGEST_WAKE_AFTER = timedelta(minutes=5)
"""A job that waits in a long queue is offered at least this often."""

MAX_ATTEMPTS = 5
"""A job that was taken this often and never finished has failed."""

DONE = Phrase("Done")

LONGEST_STEP = 100

CLEARED = {"lease": None, "lease_until": None}


class LeaseLost(Exception):
    """Another worker has taken the job over; whoever meets this stops at once."""


@dataclass(frozen=True, slots=True)
class Reaped:
    """What one round of the reaper did."""

    woken: int
    failed: int


def job_create(*, task: str, job_id: UUID | None = None, drawing: bool = False) -> Job:
    """A queued job, of a given id or a new one. Nothing runs before `job_wake`.

    Where `drawing`, it is part of another that is not refunded any more. Raises IntegrityError if
    there is a job of that id.
    """
    job = Job.objects.create(id=job_id or uuid.uuid4(), task=task, drawing=drawing)
    transaction.on_commit(lambda: _log_queued(job), robust=True)
    return job


def _log_queued(job: Job) -> None:
    """The one line that bears both the id of a request and that of the job it asked for."""
    if "request_id" in get_contextvars():  # whoever sits at a terminal need not be told
        with bound_contextvars(job_id=str(job.pk)):
            logger.info("a job was queued")


def job_wake(*, job: Job) -> None:
    """Ask the workers, once the transaction is committed, to take the job.

    The message may be lost, come twice or find the broker down: the reaper repeats it, the lease
    admits one worker.
    """
    Job.objects.filter(pk=job.pk).update(woken_at=timezone.now())
    transaction.on_commit(
        lambda: current_app.send_task(job.task, args=[str(job.pk)], ignore_result=True),
        robust=True,
    )


def job_lease(*, job_id: UUID) -> UUID | None:
    """Take a job that waits or whose holder has died. None when there is nothing to take."""
    now = timezone.now()
    lease = uuid.uuid4()
    taken = (
        _unleased(now)
        .filter(pk=job_id, attempts__lt=MAX_ATTEMPTS)
        .update(
            state=JobState.RUNNING,
            lease=lease,
            lease_until=now + LEASE,
            attempts=F("attempts") + 1,
            started_at=Coalesce("started_at", now),
        )
    )
    return lease if taken else None


def job_progress(*, job_id: UUID, lease: UUID, step: Phrase, done: int = 0, total: int = 0) -> None:
    """Say how far the job is and renew the lease. Raises LeaseLost."""
    _update_held(job_id, lease, step=_stored_step(step), progress_done=done, progress_total=total)


def job_renew(*, job_id: UUID, lease: UUID) -> None:
    """Renew the lease, as a sign of life during a long step. Raises LeaseLost."""
    _update_held(job_id, lease)


def job_set_drawing(*, job_id: UUID, lease: UUID) -> None:
    """Record, before any noise is drawn, that there is no refund from here. Raises LeaseLost."""
    _update_held(job_id, lease, drawing=True)


def job_finish(*, job_id: UUID, lease: UUID) -> None:
    """The job is done. Raises LeaseLost."""
    _end_held(
        job_id, lease, state=JobState.DONE, step=_stored_step(DONE), finished_at=timezone.now()
    )


def job_return(*, job_id: UUID, lease: UUID) -> None:
    """Give an unfinished job back, to be tried again. Raises LeaseLost."""
    _end_held(job_id, lease, state=JobState.QUEUED)


def job_fail(*, job_id: UUID, lease: UUID, reason: Phrase) -> None:
    """The job cannot be done; `reason` is for its owner alone. Refunds what drew no noise.

    Raises LeaseLost.
    """
    if not _end_unfinished(Job.objects.filter(pk=job_id, lease=lease), JobState.FAILED, reason):
        raise LeaseLost


def job_cancel(*, job: Job) -> None:
    """Cancel a job that has not started, and refund it. Raises Conflict if it has."""
    waiting = Job.objects.filter(pk=job.pk, state=JobState.QUEUED, drawing=False)
    if not _end_unfinished(waiting, JobState.CANCELLED, Phrase("")):
        raise Conflict("The job has started or ended already; it can no longer be cancelled.")
    job.refresh_from_db()


def job_retry(*, job: Job) -> None:
    """Try a failed job again, at no further cost: it drew noise, so it was never refunded.

    Raises Conflict where the job did not fail, or was refunded when it did.
    """
    retried = Job.objects.filter(pk=job.pk, state=JobState.FAILED, drawing=True).update(
        state=JobState.QUEUED, attempts=0, failure=Phrase(""), finished_at=None
    )
    if not retried:
        raise Conflict("Only a failed job that is still paid for can be tried again; ask anew.")
    job_wake(job=job)
    job.refresh_from_db()


def job_give_up(*, job: Job) -> bool:
    """Fail a job that was tried too often and that nobody holds. False for any other."""
    given_up = _unleased(timezone.now()).filter(pk=job.pk, attempts__gte=MAX_ATTEMPTS)
    return _end_unfinished(given_up, JobState.FAILED, _exhausted(job))


def jobs_reap() -> Reaped:
    """Wake the jobs nobody works on, and fail those that were tried too often."""
    now = timezone.now()
    exhausted = _unleased(now).filter(attempts__gte=MAX_ATTEMPTS)
    failed = sum(job_give_up(job=job) for job in exhausted)
    quiet = Q(woken_at__isnull=True) | Q(woken_at__lt=now - WAKE_AFTER)
    waiting = [job for job in _unleased(now).filter(quiet) if _is_due(job, now)]
    for job in waiting:
        job_wake(job=job)
    return Reaped(woken=len(waiting), failed=failed)


def _is_due(job: Job, now: datetime) -> bool:
    """Whether to offer a quiet job again: one that waits ever less often, doubling its age.

    A long queue would else fill the broker with messages about jobs that only wait their turn.
    """
    if job.woken_at is None or job.state != JobState.QUEUED:
        return True
    return now - job.woken_at >= min(job.woken_at - job.created_at, LONGEST_WAKE_AFTER)


def _unleased(now: datetime) -> QuerySet[Job]:
    """Unfinished jobs without a living holder."""
    return Job.objects.filter(
        Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lt=now)
    )


def _update_held(job_id: UUID, lease: UUID, **changes: object) -> None:
    held = Job.objects.filter(pk=job_id, lease=lease, state=JobState.RUNNING)
    if not held.update(lease_until=timezone.now() + LEASE, **changes):
        raise LeaseLost


def _end_held(job_id: UUID, lease: UUID, **changes: object) -> None:
    held = Job.objects.filter(pk=job_id, lease=lease, state=JobState.RUNNING)
    if not held.update(**CLEARED, **changes):
        raise LeaseLost


def _end_unfinished(jobs: QuerySet[Job], state: JobState, reason: Phrase) -> bool:
    """End the one job of a queryset without a result; refund it where no noise was drawn."""
    ending = {**CLEARED, "state": state, "failure": reason, "finished_at": timezone.now()}
    job = jobs.first()
    if job is None:
        return False
    with transaction.atomic():
        if jobs.filter(drawing=False).update(**ending):
            budget_refund(job=job.pk)
        elif not jobs.filter(drawing=True).update(**ending):
            return False
        job_failed.send(sender=Job, job_id=job.pk)
    return True


def _exhausted(job: Job) -> Phrase:
    paid = (
        Phrase(
            "Noise may have been drawn, or the data read for a program, so its epsilon stays spent."
        )
        if job.drawing
        else Phrase("No noise was drawn, so nothing was charged; ask for it again.")
    )
    return Phrase(
        "The work stopped {count} times before its end, most often because the machine ran out of "
        "memory or was switched off. {paid}",
        count=job.attempts,
        paid=paid,
    )


def _stored_step(step: Phrase) -> str:
    """A step as it fits the column; one with values too long for it in English."""
    stored = store_phrase(step)
    return stored if len(stored) <= LONGEST_STEP else str(step)[:LONGEST_STEP]
