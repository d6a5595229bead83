"""Worker, website or reaper that halts at a named point, so that a test can kill it there.

The reaper is the process that cleans up what killed processes left. `python -m
tests.services.halting PROGRAM POINT GATE` writes the file GATE when it reaches POINT, and continues
once that file is removed. Production code has no such points: this process replaces a function in
its own copy of the program.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 120.0


def stand_still(gate: Path) -> None:
    """Write the gate file, and wait until it is removed or PATIENCE_SECONDS have passed."""
    gate.touch()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while gate.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def before(function: Callable[..., Any], gate: Path) -> Callable[..., Any]:
    """Return a function that waits as `stand_still` does, then calls `function`."""

    def halted(*args: Any, **named: Any) -> Any:
        stand_still(gate)
        return function(*args, **named)

    return halted


def after(function: Callable[..., Any], gate: Path) -> Callable[..., Any]:
    """Return a function that calls `function`, then waits as `stand_still` does."""

    def halted(*args: Any, **named: Any) -> Any:
        answer = function(*args, **named)
        stand_still(gate)
        return answer

    return halted


def places() -> dict[str, tuple[Any, str, Callable[..., Any]]]:
    """Return, for each named point, which function to replace by one that halts there.

    The values are the module or object that has the function, the function's name, and `before` or
    `after`, which says whether to halt before or after the function runs.
    """
    from celery import current_app
    from django.core.files.uploadhandler import TemporaryFileUploadHandler

    from dpgeo.datasets import texts
    from dpgeo.engine import duckdb_view
    from dpgeo.jobs import services as jobs
    from dpgeo.jobs.lease import JobLease
    from dpgeo.releases import blobs, files, release_job, series_state
    from dpgeo.releases import services as releases

    return {
        "leased": (release_job, "draw", before),
        "counting": (duckdb_view.DuckDBView, "histogram", before),
        "drawing set": (JobLease, "set_drawing", after),
        "drawn": (release_job, "commit", before),
        "stored": (release_job, "commit_blob", before),
        "state counted": (series_state, "_keep", before),
        "state stored": (series_state, "_keep", after),
        "series moved": (blobs, "series_advance", after),
        "committed": (release_job, "commit", after),
        "one file stored": (files, "keep_file", after),
        "files stored": (release_job, "publish_due", before),
        "published": (files, "make_public", before),
        "one file public": (files, "_remove_stored", before),
        "finishing": (releases, "work_on", after),
        "receiving": (TemporaryFileUploadHandler, "receive_data_chunk", after),
        "received": (texts, "clean_file_name", before),
        "debited": (releases, "budget_debit", after),
        "requested": (current_app, "send_task", before),
        "waking": (current_app, "send_task", before),
        "giving up": (jobs, "budget_refund", before),
    }


def halt_at(point: str, gate: Path) -> None:
    """Make this process halt when it reaches the point, one of `places`."""
    from dpgeo.datasets import storage

    owner, name, halt = places()[point]
    setattr(owner, name, halt(getattr(owner, name), gate))
    storage.private_storage()  # Storages are made here, since they must exist before a worker forks


def work() -> None:
    """Run a worker with one process."""
    from dpgeo.config.celery import app

    app.worker_main(
        [
            *("--quiet", "worker", "--concurrency", "1", "-l", "WARNING"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ]
    )


def serve() -> None:
    """Run the website on the port given by the environment variable HALTING_PORT."""
    from django.core.management import call_command

    call_command("serve", web_only=True, port=int(os.environ["HALTING_PORT"]))


def reap() -> None:
    """Run the reaper, which takes care of jobs whose processes were killed."""
    from django.core.management import call_command

    call_command("reap", interval=0.2)


PROGRAMS = {"worker": work, "web": serve, "reaper": reap}

if __name__ == "__main__":
    import django

    from dpgeo.config.celery import app as _  # noqa: F401  (its own broker, not Celery's default)

    django.setup()
    halt_at(sys.argv[2], Path(sys.argv[3]))
    PROGRAMS[sys.argv[1]]()
