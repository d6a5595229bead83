"""Execution of jobs under a lease that is renewed while the work lasts."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self
from uuid import UUID

from django.db import Error as DatabaseError
from django.db import connection
from structlog.contextvars import bound_contextvars

from dpgeo.core.errors import DpgeoError
from dpgeo.jobs import services
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.outages import Outage, find_outage
from dpgeo.jobs.services import LeaseLost
from dpgeo.phrases import Phrase

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
"""Seconds between renewals: a quarter of the lease's length, so that three renewals may fail."""

MAX_HOLD_SECONDS = 12 * 3600.0
"""Seconds after which the lease is no longer renewed, so that a hung worker is replaced."""

POSTPONE_SECONDS = 5.0
"""Seconds between two attempts to record in the database that a job waits for an outage to end."""

REPORT_SECONDS = 1.0
"""Shortest time in seconds between two progress reports within one step."""


WAITS = (Outage.SPACE, Outage.READ_ONLY)
"""Outages for which a job waits without its attempts being counted."""


class ProgressCallback(Protocol):
    """Callback that shows the steps of a job, for example on a terminal.

    It is called in the process that runs the job.
    """

    def __call__(self, step: Phrase, done: int, total: int) -> None:
        """Show progress; `total` is 0 if the length of the step is unknown."""


class JobLease:
    """The lease that this process holds on a job, used as a context manager.

    Within the block, a thread renews the lease, so that it does not expire during a long query.
    `step` reports progress, and raises LeaseLost if another worker has taken over the job.
    """

    def __init__(
        self, job_id: UUID, token: UUID, on_progress: ProgressCallback | None = None
    ) -> None:
        self.job_id = job_id
        self.token = token
        self.unstored_draw = False
        """Whether this attempt has drawn noise and not stored it, so another would draw again."""
        self._on_progress = on_progress
        self._step = Phrase("")
        self._reported = 0.0
        self._lost = False
        self._closed = threading.Event()
        context = contextvars.copy_context()  # puts the job's id into the thread's log lines
        self._thread = threading.Thread(
            target=context.run, args=(self._keep_renewing,), name=f"lease {job_id}", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._thread.join()

    def step(self, name: Phrase, done: int = 0, total: int = 0) -> None:
        """Report the current step and its progress. Raises LeaseLost."""
        if self._lost:
            raise LeaseLost
        if self._on_progress:
            self._on_progress(name, done, total)
        now = time.monotonic()
        if name == self._step and now - self._reported < REPORT_SECONDS:
            return
        self._step, self._reported = name, now
        services.job_progress(
            job_id=self.job_id, lease=self.token, step=name, done=done, total=total
        )

    def renew(self) -> None:
        """Renew the lease. Raises LeaseLost.

        In a transaction, this also locks the job's row, so that no other worker can take the lease
        before the transaction ends.
        """
        services.job_renew(job_id=self.job_id, lease=self.token)

    def set_drawing(self) -> None:
        """Record in the database that noise may be drawn from now on. Raises LeaseLost."""
        services.job_set_drawing(job_id=self.job_id, lease=self.token)

    def _keep_renewing(self) -> None:
        end = time.monotonic() + MAX_HOLD_SECONDS
        try:
            while not self._closed.wait(HEARTBEAT_SECONDS) and time.monotonic() < end:
                try:
                    self.renew()
                except LeaseLost:
                    self._lost = True
                    return
                except DatabaseError:
                    # Perhaps the database is just busy, so that the lease is still valid and the
                    # next renewal succeeds.
                    logger.warning("the lease of a job could not be renewed")
        finally:
            connection.close()


def job_run(
    *, job_id: UUID, work: Callable[[JobLease], None], on_progress: ProgressCallback | None = None
) -> bool:
    """Lease a job and run `work` until it ends or fails; return whether a lease was taken.

    `on_progress` is called with the steps of the job. A DpgeoError, which a user can act on, fails
    the job, and its message is stored as the reason. After any other error, the job returns to the
    queue for another attempt. Only the type and the traceback of such an error are logged, because
    its message may contain private data. If the disk lacks space or is read-only, the job waits in
    the queue and the attempt is not counted, unless noise was drawn and lost, because the number of
    attempts bounds how often noise is drawn.
    """
    if read_disk_space().short:
        return False
    token = services.job_lease(job_id=job_id)
    if token is None:
        return False
    with bound_contextvars(job_id=str(job_id)):
        logger.info("a job was taken")
        try:
            with JobLease(job_id, token, on_progress) as lease:
                _run_work(lease, work)
        except LeaseLost:
            logger.warning("a job was taken over by another worker")
    return True


def _run_work(lease: JobLease, work: Callable[[JobLease], None]) -> None:
    """Run the work of a job and record how the job ended. Raises LeaseLost."""
    names = {"job_id": lease.job_id, "lease": lease.token}
    try:
        work(lease)
        services.job_finish(**names)
        logger.info("a job was done")
    except DpgeoError as error:
        services.job_fail(**names, reason=error.phrase)
        logger.info("a job was refused; the reason is on its page")
    except LeaseLost:
        raise
    except (KeyboardInterrupt, SystemExit):
        services.job_return(**names)
        raise
    except Exception as error:
        place = "".join(traceback.format_tb(error.__traceback__))
        logger.error("a job broke down: %s\n%s", type(error).__name__, place)
        if find_outage(error) in WAITS and not lease.unstored_draw:
            _postpone(lease)
        else:
            services.job_return(**names)


def _postpone(lease: JobLease) -> None:
    """Return a job to the queue as soon as the database can be written to. Raises LeaseLost."""
    while True:
        try:
            services.job_postpone(job_id=lease.job_id, lease=lease.token)
            return
        except DatabaseError as error:
            if find_outage(error) is None:
                raise
            time.sleep(POSTPONE_SECONDS)
