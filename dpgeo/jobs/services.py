"""Services that change jobs, by conditional UPDATEs that are safe with concurrent workers.

A worker leases a job and renews the lease while it works. If the worker dies, the lease expires,
and the reaper (a periodic task) sends another message to the workers. A job is never refunded once
its noise may have been drawn (`drawing`).
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import Case, F, PositiveIntegerField, Q, QuerySet, When
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
"""Time that a lease lasts without renewal."""

WAKE_AFTER = timedelta(seconds=15)
"""Time after which a job that no worker holds is offered to the workers again."""

MAX_WAKE_AFTER = timedelta(minutes=5)
"""Longest time between two offers of the same job to the workers, reached in a long queue."""

MAX_ATTEMPTS = 5
"""Number of attempts after which an unfinished job is marked as failed."""

DONE = Phrase("Done")
MAX_WAIT_FOR_SPACE = timedelta(days=7)

WAITING_FOR_SPACE = Phrase("Waiting for free space")

MAX_STEP_LENGTH = 100

CLEARED = {"lease": None, "lease_until": None}


class LeaseLost(Exception):
    """Raised if this worker no longer holds the job's lease and must stop at once."""


@dataclass(frozen=True, slots=True)
class Reaped:
    """What one round of the reaper did: how many jobs it offered again (`woken`) or marked as
    `failed`.
    """

    woken: int
    failed: int


def job_create(*, task: str, job_id: UUID | None = None, drawing: bool = False) -> Job:
    """Create a queued job, which does not run before `job_wake` is called.

    The job gets a random id if `job_id` is None. `drawing` means that the job must never be
    refunded, as if nothing was debited for it. Raises IntegrityError if a job with this id exists.
    """
    job = Job.objects.create(id=job_id or uuid.uuid4(), task=task, drawing=drawing)
    transaction.on_commit(lambda: _log_queued(job), robust=True)
    return job


def _log_queued(job: Job) -> None:
    """Log a job's id together with the id of the request that queued it."""
    if "request_id" in get_contextvars():  # jobs queued at a terminal have no request
        with bound_contextvars(job_id=str(job.pk)):
            logger.info("a job was queued")


def job_wake(*, job: Job) -> None:
    """Tell the workers to run the job, by a message sent once the transaction is committed.

    The message may be lost, delivered twice, or not sent because the broker is down. The reaper
    therefore repeats it, and only one worker gets the lease.
    """
    Job.objects.filter(pk=job.pk).update(woken_at=timezone.now())
    transaction.on_commit(
        lambda: current_app.send_task(job.task, args=[str(job.pk)], ignore_result=True),
        robust=True,
    )


def job_lease(*, job_id: UUID) -> UUID | None:
    """Lease a job that is queued or whose lease has expired, and return the lease's token.

    Returns None for any other job and for a job that has used up its attempts.
    """
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
    """Record the progress of a leased job and renew its lease. Raises LeaseLost."""
    _update_leased(job_id, lease, step=_stored_step(step), progress_done=done, progress_total=total)


def job_renew(*, job_id: UUID, lease: UUID) -> None:
    """Renew the lease during a long step. Raises LeaseLost."""
    _update_leased(job_id, lease)


def job_set_drawing(*, job_id: UUID, lease: UUID) -> None:
    """Record, before noise is drawn, that the job must not be refunded. Raises LeaseLost."""
    _update_leased(job_id, lease, drawing=True)


def job_finish(*, job_id: UUID, lease: UUID) -> None:
    """Mark the job as done. Raises LeaseLost."""
    _release_lease(
        job_id, lease, state=JobState.DONE, step=_stored_step(DONE), finished_at=timezone.now()
    )


def job_return(*, job_id: UUID, lease: UUID) -> None:
    """Return an unfinished job to the queue for another attempt. Raises LeaseLost."""
    _release_lease(job_id, lease, state=JobState.QUEUED)


def job_postpone(*, job_id: UUID, lease: UUID) -> None:
    """Return a job to the queue because the disk is full or read-only.

    The attempt is not counted for MAX_WAIT_FOR_SPACE, after which a job that itself fills the disk
    comes to an end. The reaper offers the job to the workers at growing intervals, so that a job
    that needs more space than there is does not keep filling the disk. Raises LeaseLost.
    """
    _release_lease(
        job_id,
        lease,
        state=JobState.QUEUED,
        attempts=Case(
            When(created_at__gte=timezone.now() - MAX_WAIT_FOR_SPACE, then=F("attempts") - 1),
            default=F("attempts"),
            output_field=PositiveIntegerField(),
        ),
        step=_stored_step(WAITING_FOR_SPACE),
        woken_at=timezone.now(),
    )


def job_fail(*, job_id: UUID, lease: UUID, reason: Phrase) -> None:
    """Mark a job as failed, and refund it if it drew no noise. Raises LeaseLost.

    `reason` is private: it is shown only to users who may see the job's private details.
    """
    if not _end_unfinished(Job.objects.filter(pk=job_id, lease=lease), JobState.FAILED, reason):
        raise LeaseLost


def job_cancel(*, job: Job) -> None:
    """Cancel and refund a job that has not started. Raises Conflict for any other job."""
    waiting = Job.objects.filter(pk=job.pk, state=JobState.QUEUED, drawing=False)
    if not _end_unfinished(waiting, JobState.CANCELLED, Phrase("")):
        raise Conflict("The job has started or ended already; it can no longer be cancelled.")
    job.refresh_from_db()


def job_retry(*, job: Job) -> None:
    """Queue a failed job again, provided that it was not refunded; it is not charged again.

    Raises Conflict if the job has not failed, was refunded when it failed, or has been queued again
    already.
    """
    retried = Job.objects.filter(pk=job.pk, state=JobState.FAILED, drawing=True).update(
        state=JobState.QUEUED,
        attempts=0,
        failure=Phrase(""),
        finished_at=None,
        submitted_at=timezone.now(),
    )
    if not retried:
        raise Conflict(
            "Only a failed job that is still paid for can be tried again; request a new one."
        )
    job_wake(job=job)
    job.refresh_from_db()


def job_restart(*, job: Job) -> None:
    """Queue a failed job again that drew no noise and needs no debit of its own.

    Raises Conflict if it may have drawn noise, or has been queued again already.
    """
    failed = Job.objects.filter(pk=job.pk, state=JobState.FAILED, drawing=False)
    if not failed.update(
        state=JobState.QUEUED,
        attempts=0,
        failure=Phrase(""),
        finished_at=None,
        submitted_at=timezone.now(),
    ):
        raise Conflict("Only a failed job that drew no noise can be started again.")
    job_wake(job=job)
    job.refresh_from_db()


def job_give_up(*, job: Job) -> bool:
    """Mark a job as failed if it has no lease and no attempts left; return whether it had
    neither.
    """
    given_up = _unleased(timezone.now()).filter(pk=job.pk, attempts__gte=MAX_ATTEMPTS)
    return _end_unfinished(given_up, JobState.FAILED, _exhausted(job))


def jobs_reap() -> Reaped:
    """Offer due jobs that no worker holds to the workers again; fail those without attempts
    left.
    """
    now = timezone.now()
    exhausted = _unleased(now).filter(attempts__gte=MAX_ATTEMPTS)
    failed = sum(job_give_up(job=job) for job in exhausted)
    quiet = Q(woken_at__isnull=True) | Q(woken_at__lt=now - WAKE_AFTER)
    waiting = [job for job in _unleased(now).filter(quiet) if _is_due(job, now)]
    for job in waiting:
        job_wake(job=job)
    return Reaped(woken=len(waiting), failed=failed)


def _is_due(job: Job, now: datetime) -> bool:
    """Return whether to offer a job that no worker holds to the workers now, at doubling intervals.

    With constant intervals, a long queue would fill the broker with messages about jobs that are
    only waiting for a free worker.
    """
    if job.woken_at is None or job.state != JobState.QUEUED:
        return True
    return now - job.woken_at >= min(job.woken_at - job.created_at, MAX_WAKE_AFTER)


def _unleased(now: datetime) -> QuerySet[Job]:
    """Return the unfinished jobs without a current lease."""
    return Job.objects.filter(
        Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, lease_until__lt=now)
    )


def _update_leased(job_id: UUID, lease: UUID, **changes: object) -> None:
    leased_jobs = Job.objects.filter(pk=job_id, lease=lease, state=JobState.RUNNING)
    if not leased_jobs.update(lease_until=timezone.now() + LEASE, **changes):
        raise LeaseLost


def _release_lease(job_id: UUID, lease: UUID, **changes: object) -> None:
    leased_jobs = Job.objects.filter(pk=job_id, lease=lease, state=JobState.RUNNING)
    if not leased_jobs.update(**CLEARED, **changes):
        raise LeaseLost


def _end_unfinished(jobs: QuerySet[Job], state: JobState, reason: Phrase) -> bool:
    """Move the only job in a queryset to a final state, and refund it if no noise was drawn.

    Returns False if the queryset is empty, or the job changed meanwhile.
    """
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
        else Phrase("No noise was drawn, so nothing was charged; request it again.")
    )
    return Phrase(
        "The work stopped {count} times before its end, most often because the machine ran out of "
        "memory or was switched off. {paid}",
        count=job.attempts,
        paid=paid,
    )


def _stored_step(step: Phrase) -> str:
    """Return a step as JSON if that fits in the column, else as English text cut to fit."""
    stored = store_phrase(step)
    return stored if len(stored) <= MAX_STEP_LENGTH else str(step)[:MAX_STEP_LENGTH]
