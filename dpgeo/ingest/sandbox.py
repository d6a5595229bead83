"""Files of compressed and binary formats are read in a process of their own, with limits.

Libraries in C read them, and a file made to do harm, or only damaged, can end a process or take
all its memory. So that is the lot of a process that has nothing else to lose: no settings, no
secrets in its environment, little memory beyond its libraries', no core dump, a folder of its own
that is removed with it, and an end if it says nothing for too long. What it says are lines of
JSON; what it makes is a file.

Plain text formats are read by our own code, whose memory is bounded as it stands, and stay here.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import IO, Any

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.phrases import Phrase

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PROJ_DATA", "PYTHONTZPATH")
FIXED = {
    "PYTHONPATH": str(ROOT),
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OPENBLAS_NUM_THREADS": "1",
    "PROJ_NETWORK": "OFF",
}
LONGEST_LINE = 64 << 20


def run(
    task: str,
    request: Mapping[str, Any],
    folder: Path,
    progress: Callable[[int, int], None],
    *,
    silence: float = 120,
    limit: float | None = None,
) -> Any:
    """The result of a task of `worker`, which may write in `folder` and be told to stop.

    `progress` hears of it and ends it by raising. It is also ended after `silence` seconds
    without a word, after the processor time that a task may take, or `limit` seconds in all, for
    which a busy machine may be to blame. Raises InvalidInput for what the file is to blame for:
    what the worker refuses, and its being ended by the file or by the first two; Conflict after
    `limit` seconds; OSError as the worker met it; RuntimeError for an error of ours.
    """
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - our own module, with no argument from outside
        [sys.executable, "-P", "-m", "dpgeo.ingest.sandbox_worker", task],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**environment, **FIXED, "TMPDIR": str(folder)},
        cwd=folder,
    )
    try:
        _send(process, request)
        for message in _messages(process, silence, limit):
            if "progress" in message:
                progress(*message["progress"])
            elif "result" in message:
                return message["result"]
            else:
                _raise(message)
        raise _ended_by(process.wait())
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _send(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    if process.stdin is None:
        raise RuntimeError("The worker has no standard input.")
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return  # it has ended; how is found out below


def _messages(
    process: subprocess.Popen[bytes], silence: float, limit: float | None
) -> Iterator[dict[str, Any]]:
    """What the worker says, line by line, until it ends. Raises InvalidInput and Conflict."""
    if process.stdout is None:
        raise RuntimeError("The worker has no standard output.")
    pipe: IO[bytes] = process.stdout
    end = None if limit is None else time.monotonic() + limit
    waiting = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            left = inf if end is None else end - time.monotonic()
            if left <= 0 or not selector.select(min(silence, left)):
                raise _too_slow() if silence < left else _too_busy()
            said = os.read(pipe.fileno(), 1 << 16)
            *lines, waiting = (waiting + said).split(b"\n")
            yield from map(json.loads, lines)
            if not said:
                return
            if len(waiting) > LONGEST_LINE:
                raise RuntimeError("The worker says more than it may.")


def _raise(message: Mapping[str, Any]) -> None:
    if "refused" in message:
        raise InvalidInput(Phrase.from_json(message["refused"]), field=message["field"])
    if "errno" in message:
        raise OSError(message["errno"], os.strerror(message["errno"]))
    raise RuntimeError(f"Reading the file went wrong here: {message['failed']}")


def _too_slow() -> InvalidInput:
    return InvalidInput(
        "Reading the file takes far too long; it is damaged, or made in an unusual way. Export it "
        "again, for example as CSV.",
        field="file",
    )


def _too_busy() -> Conflict:
    return Conflict("This machine is too busy to look at the file just now; try again in a while.")


def _ended_by(status: int) -> Exception:
    """Why a worker ended without a result; -N is signal N."""
    if status in {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE}:
        return InvalidInput(
            "The file is damaged in a way that breaks its reader; export and upload it again.",
            field="file",
        )
    if status == -signal.SIGXCPU:
        return _too_slow()
    return RuntimeError(f"The process that reads uploads ended with status {status}.")
