"""Jobs: only one worker at a time, replacement of lost workers, and refunds for failures."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest
from celery import current_app
from django.utils import timezone

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.services import budget_debit, ledger_create
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import PureDP, Unit
from dpgeo.jobs.lease import JobLease, job_run
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.services import (
    MAX_ATTEMPTS,
    MAX_WAKE_AFTER,
    WAKE_AFTER,
    LeaseLost,
    job_cancel,
    job_create,
    job_finish,
    job_lease,
    job_progress,
    job_renew,
    job_retry,
    job_set_drawing,
    job_wake,
    jobs_reap,
)
from dpgeo.phrases import Phrase

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid() -> tuple[Job, Ledger]:
    """Return a queued job that has paid epsilon 1/4 from a budget of 1, and the ledger."""
    ledger = ledger_create(name="people", total=Fraction(1))
    job = job_create(task="tests.nothing")
    budget_debit(
        ledger=ledger, job=job.pk, cost=PureDP(Fraction(1, 4), Unit.PERSON), what="A map", who="ann"
    )
    return job, ledger


def spent(ledger: Ledger) -> int:
    ledger.refresh_from_db()
    return ledger.spent_units


def take(job: Job) -> UUID:
    lease = job_lease(job_id=job.pk)
    assert lease is not None
    return lease


def let_lapse(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_job_is_leased_to_one_worker() -> None:
    job = job_create(task="tests.nothing")
    take(job)
    assert job_lease(job_id=job.pk) is None


def test_an_expired_lease_is_taken_over_and_its_holder_stops() -> None:
    job = job_create(task="tests.nothing")
    first = take(job)
    let_lapse(job)
    second = take(job)
    too_late: list[Callable[[], None]] = [
        lambda: job_progress(job_id=job.pk, lease=first, step=Phrase("Counting")),
        lambda: job_renew(job_id=job.pk, lease=first),
        lambda: job_set_drawing(job_id=job.pk, lease=first),
        lambda: job_finish(job_id=job.pk, lease=first),
    ]
    for late in too_late:
        with pytest.raises(LeaseLost):
            late()
    job_finish(job_id=job.pk, lease=second)
    job.refresh_from_db()
    assert (job.state, job.drawing, job.attempts) == (JobState.DONE, False, 2)


def test_an_ended_job_is_not_leased_again() -> None:
    job = job_create(task="tests.nothing")
    job_finish(job_id=job.pk, lease=take(job))
    assert job_lease(job_id=job.pk) is None


def test_progress_renews_the_lease() -> None:
    job = job_create(task="tests.nothing")
    lease = take(job)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() + timedelta(seconds=1))
    job_progress(job_id=job.pk, lease=lease, step=Phrase("Counting"), done=3, total=9)
    job.refresh_from_db()
    assert (str(job.step_phrase), job.progress_done, job.progress_total) == ("Counting", 3, 9)
    assert job.lease_until is not None
    assert job.lease_until > timezone.now() + timedelta(seconds=50)


def test_a_broker_that_is_down_does_not_lose_the_job(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(current_app, "send_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        job = job_create(task="tests.nothing")
        job_wake(job=job)
    Job.objects.update(woken_at=timezone.now() - 2 * WAKE_AFTER)
    assert jobs_reap().woken == 1
    assert job_lease(job_id=job.pk) is not None


def test_a_waiting_job_is_sent_again_at_growing_intervals() -> None:
    now = timezone.now()
    job = job_create(task="tests.nothing")

    def wakes(waited: timedelta, since: timedelta) -> int:
        Job.objects.filter(pk=job.pk).update(created_at=now - waited, woken_at=now - since)
        return jobs_reap().woken

    assert wakes(waited=WAKE_AFTER * 3, since=WAKE_AFTER * 2) == 1
    assert wakes(waited=WAKE_AFTER * 10, since=WAKE_AFTER * 4) == 0
    assert wakes(waited=WAKE_AFTER * 10, since=WAKE_AFTER * 5) == 1
    assert wakes(waited=timedelta(days=3), since=MAX_WAKE_AFTER / 2) == 0
    assert wakes(waited=timedelta(days=3), since=MAX_WAKE_AFTER) == 1


def test_the_reaper_wakes_only_jobs_without_a_lease() -> None:
    long_ago = timezone.now() - 2 * WAKE_AFTER
    waiting, leased, lapsed, fresh = (job_create(task="tests.nothing") for _ in range(4))
    take(leased)
    take(lapsed)
    let_lapse(lapsed)
    Job.objects.update(woken_at=long_ago)
    job_wake(job=fresh)
    assert jobs_reap().woken == 2
    woken = set(Job.objects.filter(woken_at__gt=long_ago).values_list("pk", flat=True))
    assert woken == {waiting.pk, lapsed.pk, fresh.pk}
    assert jobs_reap().woken == 0


def test_the_reaper_fails_and_refunds_jobs_that_never_drew_noise(paid: tuple[Job, Ledger]) -> None:
    job, ledger = paid
    Job.objects.filter(pk=job.pk).update(attempts=MAX_ATTEMPTS)
    assert jobs_reap().failed == 1
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert "No noise was drawn" in str(job.failure)
    assert spent(ledger) == 0


def test_the_reaper_never_refunds_jobs_that_may_have_drawn_noise(paid: tuple[Job, Ledger]) -> None:
    job, ledger = paid
    job_set_drawing(job_id=job.pk, lease=take(job))
    let_lapse(job)
    Job.objects.filter(pk=job.pk).update(attempts=MAX_ATTEMPTS)
    assert jobs_reap().failed == 1
    job.refresh_from_db()
    assert "stays spent" in str(job.failure)
    assert spent(ledger) == 250_000


def test_a_failed_job_that_is_still_paid_for_can_be_tried_again(paid: tuple[Job, Ledger]) -> None:
    job, ledger = paid
    job_set_drawing(job_id=job.pk, lease=take(job))
    let_lapse(job)
    Job.objects.filter(pk=job.pk).update(attempts=MAX_ATTEMPTS)
    jobs_reap()
    job_retry(job=job)
    assert job_lease(job_id=job.pk) is not None
    assert spent(ledger) == 250_000


def test_a_refunded_job_cannot_be_tried_again(paid: tuple[Job, Ledger]) -> None:
    job, _ = paid
    Job.objects.filter(pk=job.pk).update(attempts=MAX_ATTEMPTS)
    jobs_reap()
    with pytest.raises(Conflict):
        job_retry(job=job)


def test_a_job_is_cancelled_and_refunded_before_it_starts(paid: tuple[Job, Ledger]) -> None:
    job, ledger = paid
    job_cancel(job=job)
    assert job.state == JobState.CANCELLED
    assert spent(ledger) == 0
    assert job_lease(job_id=job.pk) is None


def test_a_started_job_is_not_cancelled(paid: tuple[Job, Ledger]) -> None:
    job, ledger = paid
    take(job)
    with pytest.raises(Conflict):
        job_cancel(job=job)
    assert spent(ledger) == 250_000


def test_an_error_that_a_person_can_fix_fails_the_job_and_refunds_it(
    paid: tuple[Job, Ledger],
) -> None:
    job, ledger = paid

    def refuse(lease: JobLease) -> None:
        raise InvalidInput("The bound is too large; lower it.")

    assert job_run(job_id=job.pk, work=refuse)
    job.refresh_from_db()
    assert (job.state, str(job.failure)) == (JobState.FAILED, "The bound is too large; lower it.")
    assert spent(ledger) == 0


def test_an_unknown_error_returns_the_job_and_is_logged_without_its_message(
    paid: tuple[Job, Ledger], caplog: pytest.LogCaptureFixture
) -> None:
    job, ledger = paid

    private = "could not convert 'Ann at 50.01, 10.01'"

    def break_down(lease: JobLease) -> None:
        raise RuntimeError(private)

    assert job_run(job_id=job.pk, work=break_down)
    job.refresh_from_db()
    assert (job.state, str(job.failure), job.lease) == (JobState.QUEUED, "", None)
    assert "RuntimeError" in caplog.text
    assert "Ann" not in caplog.text
    assert spent(ledger) == 250_000


def test_an_interrupted_worker_returns_its_job(paid: tuple[Job, Ledger]) -> None:
    def interrupt(lease: JobLease) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job_run(job_id=paid[0].pk, work=interrupt)
    assert Job.objects.get(pk=paid[0].pk).state == JobState.QUEUED


def test_a_worker_stops_when_another_takes_its_job_over() -> None:
    job = job_create(task="tests.nothing")
    other = uuid.uuid4()

    def lose(lease: JobLease) -> None:
        Job.objects.filter(pk=job.pk).update(lease=other)
        lease.step(Phrase("Counting"))

    assert job_run(job_id=job.pk, work=lose)
    job.refresh_from_db()
    assert (job.state, job.lease) == (JobState.RUNNING, other)


@pytest.mark.django_db(transaction=True)
def test_the_lease_is_kept_alive_during_a_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpgeo.jobs.lease.HEARTBEAT_SECONDS", 0.05)
    job = job_create(task="tests.nothing")
    lease = take(job)
    let_lapse(job)
    with JobLease(job.pk, lease):
        deadline = time.monotonic() + 10
        while Job.objects.get(pk=job.pk).lease_until < timezone.now():  # type: ignore[operator]
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.django_db(transaction=True)
def test_a_hung_worker_eventually_loses_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpgeo.jobs.lease.HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr("dpgeo.jobs.lease.MAX_HOLD_SECONDS", 0.0)
    job = job_create(task="tests.nothing")
    lease = take(job)
    let_lapse(job)
    with JobLease(job.pk, lease):
        time.sleep(0.3)
        assert job_lease(job_id=job.pk) is not None
