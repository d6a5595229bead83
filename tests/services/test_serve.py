"""`manage.py serve` with a real web server, worker and reaper (which cleans up after jobs)."""

from __future__ import annotations

import os
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import need
from tests.services.installation import Installation, Process
from tests.services.sites import PATIENCE_SECONDS

pytestmark = pytest.mark.services


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.fixture
def port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@pytest.fixture
def server(installation: Installation, port: int) -> Iterator[Process]:
    """Run `manage.py serve`."""
    with installation.running("manage.py", "serve", "--port", str(port), "--workers", "1") as made:
        wait_for_answer(port)
        yield made


def wait_for_answer(port: int, patience: float = PATIENCE_SECONDS) -> None:
    """Wait until the site answers, whatever the status."""
    deadline = time.monotonic() + patience
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/admin/login/", timeout=60).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the site does not answer"
            time.sleep(0.2)


def children_of(number: int) -> dict[str, int]:
    """Return the ids of a process's children, by a word in their commands that tells them apart.

    Web processes are named by the order in which they were started.
    """
    path = Path(f"/proc/{number}/task/{number}/children")
    children: dict[str, int] = {}
    for child in map(int, path.read_text().split()):
        command = Path(f"/proc/{child}/cmdline").read_text()
        for word in ("files@", "celery", "reap"):
            if word in command:
                children[word] = child
                break
        else:
            children["web" if "web" not in children else "other web"] = child
    return children


def test_web_and_worker_come_back_after_being_killed_and_all_stop_within_seconds(
    server: Process, port: int
) -> None:
    need(Path("/proc/self/task").exists(), "Linux")
    before = children_of(server.pid)
    assert before.keys() == {"web", "other web", "celery", "files@", "reap"}
    killed = {before["web"], before["other web"], before["celery"]}
    for each in killed:
        os.kill(each, signal.SIGKILL)
    # No visitor is refused meanwhile.
    wait_for_answer(port, patience=0.0)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (after := children_of(server.pid)).keys() != before.keys() or (
        killed & set(after.values())
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    wait_for_answer(port)
    assert after["reap"] == before["reap"]

    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=PATIENCE_SECONDS) == 0
    assert not any(Path(f"/proc/{number}").exists() for number in after.values())
    assert server.stdout is not None
    output = server.stdout.read().decode()
    assert output.rstrip().endswith("Stopped. Start it again and it goes on where it was.")
    assert "shutdown" not in output
