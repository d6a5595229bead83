"""Limit on how many previews the processes of a machine make at the same time."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

from django.conf import settings

from dpgeo.core.errors import Conflict

AT_A_TIME = 2

MAX_WAIT_SECONDS = 30.0
PAUSE_SECONDS = 0.1


@contextmanager
def preview_slot() -> Iterator[None]:
    """Hold one of AT_A_TIME slots for making previews.

    Raises Conflict if no slot becomes free in time. A slot is a locked file, which the operating
    system unlocks when the process ends.
    """
    folder = settings.VAR_DIR / "previews"
    folder.mkdir(mode=0o700, exist_ok=True)
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    with ExitStack() as opened:
        slots = [opened.enter_context((folder / str(n)).open("wb")) for n in range(AT_A_TIME)]
        while not any(_locked(slot) for slot in slots):
            if time.monotonic() > deadline:
                raise Conflict(
                    "This machine is too busy to look at the file just now; try again in a while."
                )
            time.sleep(PAUSE_SECONDS)
        yield


def _locked(slot: IO[bytes]) -> bool:
    try:
        fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
