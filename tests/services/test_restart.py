"""The site after its supervisor was killed and restarted the way systemd restarts it."""

from __future__ import annotations

import configparser
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.requirements import need
from tests.servers import free_port
from tests.services.installation import ROOT, Installation, Process, kill
from tests.services.sites import Site

pytestmark = pytest.mark.services

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

READY_SECONDS = 20.0 if AUDIT else 120.0
"""Longest time, in seconds, from killing the supervisor until the site is ready again.

The promise is 20 s; more is allowed when other tests run at the same time.
"""

HOME = "/srv/dpgeo"


def unit() -> configparser.ConfigParser:
    """Return the parsed systemd unit deploy/dpgeo.service."""
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(ROOT / "deploy" / "dpgeo.service")
    return parsed


def words_of(command: str, port: int) -> list[str]:
    """Return the arguments that a command of the systemd unit gives to Python, with a new port."""
    python, *words = shlex.split(command)
    assert python == f"{HOME}/.venv/bin/python"
    return [str(port) if word == "8000" else word for word in words]


def wait_until_ready(port: int, seconds: float) -> None:
    """Wait until `/readyz` answers with status 200, but no longer than the given seconds."""
    deadline = time.monotonic() + seconds
    while not is_ready(port):
        assert time.monotonic() < deadline, "the site is not ready"
        time.sleep(0.05)


def is_ready(port: int) -> bool:
    try:
        return Site(port, {}).ask("GET", "/readyz").status == 200
    except OSError:
        return False


def test_the_site_is_ready_soon_after_its_supervisor_was_killed(tmp_path: Path) -> None:
    need(Path("/proc/self/task").exists(), "Linux")
    service = unit()["Service"]
    assert service["Restart"] == "always"
    assert unit()["Unit"]["StartLimitIntervalSec"] == "0"
    port = free_port()
    command = words_of(service["ExecStart"], port)
    installation = Installation(tmp_path)
    started = [installation.start(*command)]
    try:
        wait_until_ready(port, 60)
        leave_stale_files(tmp_path / "var")
        for _ in range(2 if AUDIT else 1):
            before = descendants_of(started[-1].pid)
            os.kill(started[-1].pid, signal.SIGKILL)
            killed = time.monotonic()
            started[-1].wait(timeout=60)
            # Start the command again until it keeps running, as systemd does.
            while started[-1].poll() is not None:
                time.sleep(float(service["RestartSec"]))
                started.append(installation.start(*command))
                wait_until_ready_or_ended(started[-1], port, before)
                seconds = time.monotonic() - killed
                sys.stderr.write(f"{seconds:.1f} s from the kill until the end of the wait\n")
                assert seconds < READY_SECONDS
        started[-1].send_signal(signal.SIGTERM)
        assert started[-1].wait(timeout=float(service["TimeoutStopSec"])) == 0
    finally:
        for process in started:
            kill(process)


def leave_stale_files(var: Path) -> None:
    """Create files like those that killed processes leave behind."""
    for name in ("throttle/lock", "secret-key.4711", "worker.pid"):
        (var / name).parent.mkdir(exist_ok=True)
        (var / name).touch()
    (var / "queue" / "messages" / "0_1.part").touch()


def wait_until_ready_or_ended(process: Process, port: int, before: set[int]) -> None:
    """Wait until the site is ready and all of `before` have ended, or the command has ended."""
    deadline = time.monotonic() + READY_SECONDS
    while process.poll() is None and (any(map(runs, before)) or not is_ready(port)):
        left = set(filter(runs, before))
        assert time.monotonic() < deadline, f"not ready; processes left: {left or 'none'}"
        time.sleep(0.05)


def descendants_of(number: int) -> set[int]:
    """Return the process ids of all descendants of a process."""
    children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    direct = {int(child) for child in children}
    return direct.union(*map(descendants_of, direct))


def runs(number: int) -> bool:
    """Return whether a process still runs; a zombie, which only waits to be reaped, does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
