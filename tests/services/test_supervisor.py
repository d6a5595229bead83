"""The supervisor, tested with small programs that write their process ids to a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.requirements import need

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parent.parent.parent

PART = """
import os, subprocess, sys, time
with open(sys.argv[1], "a") as file:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    file.write(f"{os.getpid()} {child.pid}\\n")
time.sleep(300)
"""

SUPERVISOR = """
import sys
from dpgeo.commands.supervisor import Program, Supervisor
part, failing = sys.argv[1], sys.argv[2:]
programs = [Program("Sleeper", [sys.executable, "-c", part, "ids"])]
if failing:
    programs.append(Program("Failing", [sys.executable, "-c", "raise SystemExit(3)"]))
    brief = [sys.executable, "-c", "open('brief', 'a').write('x')"]
    programs.append(Program("Brief", brief, once=True))
Supervisor(programs, say=lambda line: print(line, flush=True)).run()
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts supervisors in `tmp_path`; kill them at the end."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, PART, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition, for at most a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.05)


def ids(folder: Path) -> list[list[int]]:
    """Return, for each run of the program, its process id and that of its child."""
    path = folder / "ids"
    if not path.exists():
        return []
    return [[int(word) for word in line.split()] for line in path.read_text().splitlines()]


def lives(number: int) -> bool:
    """Return whether a process runs; one that has ended but was not yet reaped does not."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_it_restarts_a_killed_program_and_ends_its_children(start: Start, tmp_path: Path) -> None:
    need(sys.platform == "linux", "Linux")
    start()
    until(lambda: len(ids(tmp_path)) == 1, "the part runs")
    first, child = ids(tmp_path)[0]
    os.kill(first, signal.SIGKILL)
    until(lambda: len(ids(tmp_path)) == 2, "the part runs again")
    assert not lives(child)
    assert all(lives(number) for number in ids(tmp_path)[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_every_process_when_told(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    need(sys.platform == "linux", "Linux")
    supervisor = start()
    until(lambda: len(ids(tmp_path)) == 1, "the part runs")
    supervisor.send_signal(number)
    assert supervisor.wait(timeout=60) == 0
    assert not any(lives(number) for number in ids(tmp_path)[0])


def test_no_program_outlives_a_killed_supervisor(start: Start, tmp_path: Path) -> None:
    need(sys.platform == "linux", "Linux")
    supervisor = start()
    until(lambda: len(ids(tmp_path)) == 1, "the part runs")
    part, child = ids(tmp_path)[0]
    supervisor.kill()
    until(lambda: not lives(part), "the part has ended")
    # Each program has to end its own children; the test's program does not, so the test does.
    os.kill(child, signal.SIGKILL)


def test_it_waits_longer_before_each_restart_of_a_failing_program(
    start: Start, tmp_path: Path
) -> None:
    supervisor = start("with a failing part")
    assert supervisor.stdout is not None
    lines = [supervisor.stdout.readline() for _ in range(3)]
    supervisor.terminate()
    assert lines == [
        f"Failing ended (exit code 3); starting it again in {wait} s.\n" for wait in ("0.5", 1, 2)
    ]
    assert supervisor.wait(timeout=60) == 0
    assert (tmp_path / "brief").read_text() == "x"
