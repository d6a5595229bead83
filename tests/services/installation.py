"""An installation in a separate folder, whose processes are stopped by their ids."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.migrated import DATABASE, migrated_database

ROOT = Path(__file__).resolve().parent.parent.parent

Process = subprocess.Popen[bytes]


class Installation:
    """An installation that writes only to `folder`.

    `servers` are the settings for PostgreSQL and Redis. Without them the installation has the
    embedded defaults, a file-based queue and SQLite, whose database has been migrated unless
    `migrated` is false.
    """

    def __init__(
        self, folder: Path, servers: Mapping[str, str] | None = None, *, migrated: bool = True
    ) -> None:
        self.folder = folder
        outer = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DATABASE_URL", "CELERY_BROKER_URL"}
        }
        self.environment = {
            **outer,
            **(servers or {}),
            "DPGEO_VAR": str(folder / "var"),
            "DPGEO_JOB_SLOTS": "",
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
        }
        self._driver: Process | None = None
        self._settings: dict[str, str] = {}
        if migrated and "DATABASE_URL" not in self.environment:
            database = folder / "var" / DATABASE
            database.parent.mkdir()
            database.touch(mode=0o600)
            database.write_bytes(migrated_database())

    def start(self, *words: str) -> Process:
        """Start a Python process in a new process group; it logs to a file in the folder."""
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *words],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def migrate(self) -> None:
        """Bring the database's tables up to date."""
        process = self.start("manage.py", "migrate", "-v", "0")
        assert process.wait() == 0, (self.folder / "log").read_text()[-4000:]

    def ask(self, action: str, /, **values: Any) -> dict[str, Any]:
        """Run an action of `tests.services.driver` and return its result.

        One process runs all actions.
        """
        driver = self._present_driver()
        assert driver.stdin is not None
        assert driver.stdout is not None
        driver.stdin.write(json.dumps([action, values]).encode() + b"\n")
        driver.stdin.flush()
        line = driver.stdout.readline()
        assert line, (self.folder / "log").read_text()[-4000:]
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _present_driver(self) -> Process:
        """Return the driver process, which is restarted if a test has changed the settings."""
        if self._driver is None or self._settings != self.environment:
            self.close()
            self._driver = self.start("-m", "tests.services.driver")
            self._settings = dict(self.environment)
        return self._driver

    def close(self) -> None:
        """Stop the driver."""
        if self._driver is not None:
            kill(self._driver)
            self._driver = None

    def begin(self, action: str, /, **values: Any) -> int:
        """Start an action in a separate process, a copy of the driver; return the process's id."""
        process: int = self.ask("begin", action=action, values=values)["process"]
        return process

    def answer(self, process: int) -> dict[str, Any]:
        """Wait for an action that was begun and return its result."""
        ended = self.ask("finish", process=process)
        assert ended["code"] == 0, (self.folder / "log").read_text()[-4000:]
        answer: dict[str, Any] = ended["answer"]
        return answer

    def command(self, *words: str) -> str:
        """Run a command of manage.py in a copy of the driver, and return its output."""
        output: str = self.answer(self.begin("command", words=words))["output"]
        return output

    @contextmanager
    def running(self, *words: str) -> Iterator[Process]:
        """Run a process within the block; at the end, kill it and its children if it still runs."""
        process = self.start(*words)
        try:
            yield process
        finally:
            kill(process)

    def worker(self) -> contextlib.AbstractContextManager[Process]:
        """Run a worker with one process, for all queues, within the block."""
        return self.running(*celery_words(1))

    def halting(
        self, program: str, point: str, gate: Path
    ) -> contextlib.AbstractContextManager[Process]:
        """Run a worker, website or reaper that waits at a named point, so that it can be killed.

        `tests.services.halting` lists the points.
        """
        return self.running("-m", "tests.services.halting", program, point, str(gate))

    def reaper(self, seconds: str = "0.2") -> contextlib.AbstractContextManager[Process]:
        """Run a reaper within the block; it looks for lost jobs more often than in production."""
        return self.running("manage.py", "reap", "--interval", seconds)

    def wait_for(self, release: str, **expected: Any) -> dict[str, Any]:
        """Wait until a release has the expected states, and return all of its states."""
        deadline = time.monotonic() + 120
        while True:
            seen = self.ask("look", release=release)
            if expected.items() <= seen.items():
                return seen
            log = (self.folder / "log").read_text()[-4000:]
            assert time.monotonic() < deadline, f"{seen}\n{log}"
            time.sleep(0.2)


def celery_words(workers: int) -> Sequence[str]:
    """Return the arguments after `python` that start a worker with `workers` processes.

    They are those of `manage.py serve`, except that this worker also makes files on request, for
    which `serve` starts a separate worker.
    """
    from dpgeo.commands.management.commands.serve import worker_command

    words = worker_command(workers)[1:]
    words[words.index("-Q") + 1] = "celery,files"
    return words


def kill(process: Process) -> None:
    """Kill a process and its process group with signal 9, and wait until the process has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=120)


def wait_until_exists(path: Path, process: Process, log: Path) -> None:
    """Wait until a process has written the file `path`; fail with the log if it ends before."""
    deadline = time.monotonic() + 180
    while not path.exists():
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.05)
