"""Doing a job: the lease is taken, kept alive and given up here."""

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
from dpgeo.jobs.services import LeaseLost
from dpgeo.phrases import Phrase

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
"""Between two signs of life; a quarter of the lease, so that three may be missed."""

LONGEST_HOLD_SECONDS = 12 * 3600.0
"""After this the lease is no longer renewed: whoever hangs is replaced."""

REPORT_SECONDS = 1.0
"""Progress within one step is written at most this often."""


class ProgressCallback(Protocol):
    """Hears of every step in the process that does the job, for a line on a terminal."""

    def __call__(self, step: Phrase, done: int, total: int) -> None:
        """`total` is 0 where the length of the step is not known."""


class JobLease:
    """A job in this process's hands, as a context manager.

    While it is open a thread renews the lease, so that a long query does not lose it. `step`
    reports progress and raises LeaseLost once another worker has taken the job over.
    """

    def __init__(
        self, job_id: UUID, lease: UUID, on_progress: ProgressCallback | None = None
    ) -> None:
        self.job_id = job_id
        self.lease = lease
        self._listener = on_progress
        self._step = Phrase("")
        self._reported = 0.0
        self._lost = False
        self._closed = threading.Event()
        context = contextvars.copy_context()  # so that the thread's log lines name the job, too
        self._thread = threading.Thread(
            target=context.run, args=(self._beat,), name=f"lease {job_id}", daemon=True
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
        """Say what is being done and how far it is. Raises LeaseLost."""
        if self._lost:
            raise LeaseLost
        if self._listener:
            self._listener(name, done, total)
        now = time.monotonic()
        if name == self._step and now - self._reported < REPORT_SECONDS:
            return
        self._step, self._reported = name, now
        services.job_progress(
            job_id=self.job_id, lease=self.lease, step=name, done=done, total=total
        )

    def renew(self) -> None:
        """Make sure of the lease: within a transaction, until its end. Raises LeaseLost."""
        services.job_renew(job_id=self.job_id, lease=self.lease)

    def set_drawing(self) -> None:
        """Commit that noise may be drawn from here on. Raises LeaseLost."""
        services.job_set_drawing(job_id=self.job_id, lease=self.lease)

    def _beat(self) -> None:
        end = time.monotonic() + LONGEST_HOLD_SECONDS
        try:
            while not self._closed.wait(HEARTBEAT_SECONDS) and time.monotonic() < end:
                try:
                    self.renew()
                except LeaseLost:
                    self._lost = True
                    return
                except DatabaseError:
                    # A busy database is not a lost lease; the next beat tries again.
                    logger.warning("the lease of a job could not be renewed")
        finally:
            connection.close()


def job_run(
    *, job_id: UUID, work: Callable[[JobLease], None], on_progress: ProgressCallback | None = None
) -> bool:
    """Take a job and work on it to its end or failure. False when it was not to be had.

    An error that a person can mend fails the job with its message. Any other gives it back, to be
    tried again, and is logged by kind and place alone: its message may quote private data.
    """
    lease = services.job_lease(job_id=job_id)
    if lease is None:
        return False
    with bound_contextvars(job_id=str(job_id)):
        logger.info("a job was taken")
        try:
            with JobLease(job_id, lease, on_progress) as held:
                _work(held, work)
        except LeaseLost:
            logger.warning("a job was taken over by another worker")
    return True


def _work(held: JobLease, work: Callable[[JobLease], None]) -> None:
    """Work on a job and say how it ended. Raises LeaseLost."""
    names = {"job_id": held.job_id, "lease": held.lease}
    try:
        work(held)
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
        services.job_return(**names)
    else:
        services.job_finish(**names)
        logger.info("a job was done")
