"""Waiting for jobs, with a progress bar if tqdm is installed."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

from dpgeo_client import types
from dpgeo_client.connection import Connection

POLL_SECONDS = 1.0


def wait_for(
    connection: Connection, job: types.Job, seconds: float, progress: bool = True
) -> types.Job:
    """Poll a job until it is done, and return it.

    The progress bar counts polls, about one per second, because a key can see only a job's state
    and not its progress. Raises ApiError or NetworkError, or TimeoutError after `seconds`.
    """
    deadline = time.monotonic() + seconds
    with bar(progress, unit=" s") as shown:
        while job["state"] != "done":
            if time.monotonic() > deadline:
                raise TimeoutError(f"{job['url']} is still {job['state']}; ask it again later.")
            shown.set_description(job["state"])
            shown.update()
            time.sleep(POLL_SECONDS)
            job = connection.get(job["url"])
    return job


def bar(shown: bool, **further: Any) -> Any:
    """Return a tqdm progress bar, or one that shows nothing if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _NoBar()
    return tqdm(disable=not shown, **further)


class _NoBar(AbstractContextManager["_NoBar"]):
    total: int | None = None

    def __exit__(self, *error: object) -> None:
        return None

    def set_description(self, text: str) -> None:
        """Ignore the text."""

    def update(self, count: int = 1) -> None:
        """Ignore the count."""
