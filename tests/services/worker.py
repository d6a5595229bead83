"""A real Celery worker that stands still at a named point of the release path, for tests to kill.

`python -m tests.services.worker POINT GATE` writes the file GATE when it arrives at POINT, and
goes on when that file is gone. Production code has no such point.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpgeo.config.celery import app

PATIENCE_SECONDS = 120.0


def stand_still(gate: Path) -> None:
    """Wait until the gate file is removed."""
    gate.touch()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while gate.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def before(function: Callable[..., Any], gate: Path) -> Callable[..., Any]:
    """The function, with a halt before it."""

    def halted(*args: Any, **named: Any) -> Any:
        stand_still(gate)
        return function(*args, **named)

    return halted


def after(function: Callable[..., Any], gate: Path) -> Callable[..., Any]:
    """The function, with a halt after it."""

    def halted(*args: Any, **named: Any) -> Any:
        answer = function(*args, **named)
        stand_still(gate)
        return answer

    return halted


def halt_at(point: str, gate: Path) -> None:
    """Put a halt into this process's copy of the release path."""
    from dpgeo.datasets import storage
    from dpgeo.engine import duckdb_view
    from dpgeo.jobs.running import Held
    from dpgeo.releases import files, running

    places: dict[str, tuple[Any, str, Callable[..., Any]]] = {
        "leased": (running, "draw", before),
        "counting": (duckdb_view.DuckDBView, "histogram", before),
        "drawing set": (Held, "set_drawing", after),
        "drawn": (running, "commit", before),
        "committed": (running, "commit", after),
        "one file stored": (files, "keep_file", after),
        "files stored": (running, "publish", before),
        "published": (files, "make_public", before),
        "one file public": (files, "_remove_stored", before),
        "finishing": (running, "work_on", after),
    }
    owner, name, halt = places[point]
    setattr(owner, name, halt(getattr(owner, name), gate))
    storage.private_storage()  # the storages exist before the worker forks


if __name__ == "__main__":
    import django

    django.setup()
    halt_at(sys.argv[1], Path(sys.argv[2]))
    app.worker_main(
        [
            *("--quiet", "worker", "--concurrency", "1", "-l", "WARNING"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ]
    )
