"""Sandbox process with limits for reading compressed and binary files.

C libraries read such files, and a malicious or damaged file can crash a library's process or
exhaust its memory. So the libraries run in a separate process. It has no settings, no secrets in
its environment, little memory beyond what its libraries need, no core dump, and a folder of its own
that is removed when it ends. It is stopped if it sends no message for too long. Its messages are
lines of JSON, and its output is a file.

Plain text formats are read in the calling process by our own code, which bounds its memory.
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
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import IO, Any, TypeVar

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.phrases import Phrase

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PROJ_DATA", "PYTHONTZPATH")
FIXED = {
    "PYTHONPATH": str(ROOT),
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # Freed arrays are returned to the system at once, so that memory does not grow with the file.
    "MALLOC_MMAP_THRESHOLD_": "1048576",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
    "OPENBLAS_NUM_THREADS": "1",
    "PROJ_NETWORK": "OFF",
}
LONGEST_LINE = 64 << 20

T = TypeVar("T")


def run(
    task: str,
    request: Mapping[str, Any],
    folder: Path,
    progress: Callable[[int, int], None],
    read: Callable[[Any], T],
    *,
    silence: float = 120,
    limit: float | None = None,
) -> T:
    """Run a task of `sandbox_worker` on a request; return the task's result, parsed by `read`.

    The worker may write in `folder`. `progress` is called with each progress message of the worker,
    and stops the worker by raising an exception. The worker is also stopped after `silence` seconds
    without a message, when it exceeds the processor time of its task, and after `limit` seconds in
    all.

    Raises InvalidInput for problems of the file: the worker refuses it, crashes on it, sends no
    message for too long or computes for too long. Raises Conflict after `limit` seconds, since a
    busy machine may be the reason; OSError for the system's errors that the worker reports; or
    RuntimeError for internal errors and for messages that `sandbox_worker` never sends.
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
                return _understand(read, message["result"])
            else:
                _raise(message)
        raise _ended_by(process.wait())
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # the process ended with input unread
                    pipe.close()


def _send(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    if process.stdin is None:
        raise RuntimeError("The worker has no standard input.")
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return  # the process has ended; `run` reports why


def _messages(
    process: subprocess.Popen[bytes], silence: float, limit: float | None
) -> Iterator[dict[str, Any]]:
    """Yield the worker's messages until it ends. Raises InvalidInput or Conflict."""
    if process.stdout is None:
        raise RuntimeError("The worker has no standard output.")
    pipe: IO[bytes] = process.stdout
    end = None if limit is None else time.monotonic() + limit
    waiting = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            remaining = inf if end is None else end - time.monotonic()
            if remaining <= 0 or not selector.select(min(silence, remaining)):
                raise _too_slow() if silence < remaining else _too_busy()
            output = os.read(pipe.fileno(), 1 << 16)
            *lines, waiting = (waiting + output).split(b"\n")
            yield from (_understand(json.loads, line) for line in lines)
            if not output:
                return
            if len(waiting) > LONGEST_LINE:
                raise RuntimeError("The worker says more than it may.")


def _raise(message: Mapping[str, Any]) -> None:
    if "refused" in message:
        phrase = _understand(Phrase.from_json, message["refused"])
        raise InvalidInput(phrase, field=str(message["field"]))
    if "errno" in message:
        raise OSError(message["errno"], os.strerror(message["errno"]))
    raise RuntimeError(f"Reading the file went wrong here: {message['failed']}")


def _understand(read: Callable[[Any], T], answer: Any) -> T:
    """Parse the worker's result with `read`. Raises RuntimeError if `read` fails."""
    try:
        return read(answer)
    except Exception as error:
        raise RuntimeError(f"The worker says what it may not: {type(error).__name__}.") from None


def _too_slow() -> InvalidInput:
    return InvalidInput(
        "Reading the file takes far too long; it is damaged, or made in an unusual way. Export it "
        "again, for example as CSV.",
        field="file",
    )


def _too_busy() -> Conflict:
    return Conflict("This machine is too busy to look at the file just now; try again in a while.")


def _ended_by(status: int) -> Exception:
    """Return the error for a worker that ended without a result; status -N means signal N."""
    if status in {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE}:
        return InvalidInput(
            "The file is damaged in a way that breaks its reader; export and upload it again.",
            field="file",
        )
    if status == -signal.SIGXCPU:
        return _too_slow()
    return RuntimeError(f"The process that reads uploads ended with status {status}.")
