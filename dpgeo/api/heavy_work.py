"""Limit on the number of expensive requests that a web process computes at a time.

The limit keeps threads free for all other requests.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from dpgeo.api.problem_kinds import BUSY
from dpgeo.api.problems import Refused

AT_A_TIME = 2
"""Number of expensive requests that are computed at a time: half of those that a web process
computes at a time (`dpgeo.commands.web_server`).
"""

WAITING = 1
"""Number of expensive requests that may wait for their turn, so that one thread stays free for
other requests.
"""

MAX_WAIT_SECONDS = 1.0

_admitted = threading.BoundedSemaphore(AT_A_TIME + WAITING)
_working = threading.BoundedSemaphore(AT_A_TIME)

P = ParamSpec("P")
T = TypeVar("T")
View = TypeVar("View")


@contextmanager
def turn() -> Iterator[None]:
    """Wait until fewer than AT_A_TIME requests are being computed, then run the block.

    Raises Refused if too many requests are already waiting, or after MAX_WAIT_SECONDS.
    """
    if not _admitted.acquire(blocking=False):
        raise Refused(BUSY, wait=2)
    try:
        if not _working.acquire(timeout=MAX_WAIT_SECONDS):
            raise Refused(BUSY, wait=2)
        try:
            yield
        finally:
            _working.release()
    finally:
        _admitted.release()


def heavy(
    method: Callable[Concatenate[View, P], T],
) -> Callable[Concatenate[View, P], T]:
    """Decorate a view method that may take long, so that each call waits for its `turn`."""

    @functools.wraps(method)
    def waiting(view: View, /, *given: P.args, **named: P.kwargs) -> T:
        with turn():
            return method(view, *given, **named)

    return waiting
