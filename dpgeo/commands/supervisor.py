"""Process supervisor that restarts programs that end, and stops them all on request.

Each program leads its own process group, so Ctrl-C reaches only the supervisor, which stops the
programs in order. On Linux, the kernel ends the programs even if the supervisor is killed with
SIGKILL.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

PAUSE_SECONDS = 0.1
GRACE_SECONDS = 8.0
"""Grace period, in seconds, in which programs may end on their own before they are killed."""
MAX_BACKOFF_SECONDS = 30.0
STEADY_SECONDS = 60.0
"""A program that ran for at least this many seconds is restarted without delay."""
SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, for Linux's prctl(2)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask the supervisor to stop."""

Say = Callable[[str], None]

logger = logging.getLogger(__name__)


def tie_to_parent() -> Callable[[], None] | None:
    """Return a function that makes a child process end when its parent does, on Linux only.

    Returns None on other systems.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def tie() -> None:
        prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended before prctl asked for a signal: none comes
            os._exit(1)

    return tie


@dataclass
class Program:
    """One supervised command; it is not restarted after it ends if `once` is True."""

    name: str
    command: Sequence[str]
    once: bool = False
    process: subprocess.Popen[bytes] | ForkedProcess | None = None
    started: float = 0.0
    due: float = 0.0
    backoff: float = 0.0
    finished: bool = False

    def start(self) -> None:
        """Start the command as the leader of a new process group."""
        self.process = subprocess.Popen(  # noqa: S603
            self.command,
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=tie_to_parent(),
        )
        self.started = time.monotonic()

    def ended(self) -> int | None:
        """Return the exit code if the command has ended, and kill the rest of its group.

        The group is signalled before the leader's exit status is collected, because until then the
        leader's process id cannot be reused for another process. Returns None while the command
        runs.
        """
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        if self.process is None or os.waitid(os.P_PID, self.process.pid, flags) is None:
            return None
        return self.kill()

    def ask_to_stop(self) -> None:
        """Ask the leader of the process group to stop; the leader stops its own children."""
        if self.process is not None:
            self.process.terminate()

    def kill(self) -> int:
        """Kill the whole process group at once, and return the exit code of its leader."""
        if self.process is None:
            return 0
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        self.process = None
        return code

    def plan_restart(self, now: float) -> float:
        """Choose when to start the program next, and return the seconds until then."""
        steady = now - self.started >= STEADY_SECONDS
        self.backoff = 0.0 if steady else min(max(2 * self.backoff, 0.5), MAX_BACKOFF_SECONDS)
        self.due = now + self.backoff
        return self.backoff


class ForkedProcess:
    """A copy of this process, with those methods of `subprocess.Popen` that `Program` needs."""

    def __init__(self, work: Callable[[], None]) -> None:
        """Make a copy that leads its own process group, calls `work` and then ends."""
        tie = tie_to_parent()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(work, tie)
        with suppress(OSError):  # the copy has done it already
            os.setpgid(self.pid, self.pid)

    def terminate(self) -> None:
        """Ask the process to stop."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> int:
        """Wait until the process has ended and return its exit code, as `subprocess` does."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def _run(self, work: Callable[[], None], tie: Callable[[], None] | None) -> NoReturn:
        code = 1
        try:
            os.setpgid(0, 0)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            if tie is not None:
                tie()
            work()
            code = 0
        except BaseException:
            logger.exception("A process of the site has failed.")
        finally:
            # Without the exit handlers of the process that was copied.
            os._exit(code)


@dataclass
class Copy(Program):
    """Supervised copies of this process, which call `work`.

    They share the memory of what this process has loaded. It must have no thread and no connection
    to a database when they are made.
    """

    work: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Make a copy as the leader of a new process group."""
        self.process = ForkedProcess(self.work)
        self.started = time.monotonic()


@dataclass
class Supervisor:
    """Supervisor that runs `programs` until told to stop.

    `say` is called with one line of text for each notable event.
    """

    programs: list[Program]
    say: Say
    stopping: bool = field(default=False, init=False)

    def run(self, each_round: Callable[[], None] = lambda: None) -> None:
        """Supervise the programs until SIGINT, SIGTERM or SIGHUP arrives.

        `each_round` is called several times a second. Only the main thread may call this method,
        because it sets signal handlers.
        """
        with self._signals():
            try:
                while not self.stopping:
                    for program in self.programs:
                        self._look_after(program)
                    each_round()
                    time.sleep(PAUSE_SECONDS)
            finally:
                self._stop_all()

    def stop(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Ask `run` to stop everything. This is also the signal handler."""
        self.stopping = True

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.stop) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _look_after(self, program: Program) -> None:
        now = time.monotonic()
        if program.finished:
            return
        if program.process is None:
            if now >= program.due:
                program.start()
            return
        code = program.ended()
        if code is None:
            return
        if program.once:
            program.finished = True
            if code:
                self.say(f"{program.name} failed ({describe(code)}).")
            return
        wait = program.plan_restart(now)
        when = f"in {wait:g} s" if wait else "now"
        self.say(f"{program.name} ended ({describe(code)}); starting it again {when}.")

    def _stop_all(self) -> None:
        running = [each for each in self.programs if each.process and each.ended() is None]
        for program in running:
            program.ask_to_stop()
        deadline = time.monotonic() + GRACE_SECONDS
        while running and time.monotonic() < deadline:
            time.sleep(PAUSE_SECONDS)
            running = [program for program in running if program.ended() is None]
        for program in running:
            self.say(f"{program.name} did not stop within {GRACE_SECONDS:g} s; killing it.")
            program.kill()


def describe(code: int) -> str:
    """Return a subprocess's exit code in words, such as "signal 9" or "exit code 1"."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
