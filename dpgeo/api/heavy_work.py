"""A limit on how many expensive requests a process computes at a time.

It keeps threads for readers.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from dpgeo.api.problems import Busy

AT_A_TIME = 2
"""Half the threads of a web process (`dpgeo.config.gunicorn`)."""

WAITING = 1
"""Requests that wait for their turn; a thread is left for readers."""

LONGEST_WAIT_SECONDS = 1.0

_admitted = threading.BoundedSemaphore(AT_A_TIME + WAITING)
_working = threading.BoundedSemaphore(AT_A_TIME)

P = ParamSpec("P")
T = TypeVar("T")
View = TypeVar("View")


@contextmanager
def turn() -> Iterator[None]:
    """Wait for one's turn, do the work, and let the next one in. Raises Busy."""
    if not _admitted.acquire(blocking=False):
        raise Busy
    try:
        if not _working.acquire(timeout=LONGEST_WAIT_SECONDS):
            raise Busy
        try:
            yield
        finally:
            _working.release()
    finally:
        _admitted.release()


def heavy(
    method: Callable[Concatenate[View, P], T],
) -> Callable[Concatenate[View, P], T]:
    """Let a method of a view, whose answers may take long to compute, wait for its turn."""

    @functools.wraps(method)
    def waiting(view: View, /, *given: P.args, **named: P.kwargs) -> T:
        with turn():
            return method(view, *given, **named)

    return waiting
