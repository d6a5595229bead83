"""Sandbox process with limits for reading compressed and binary files.

C libraries read such files, and a malicious or damaged file can crash a library's process or
exhaust its memory, or take the process over. So the libraries run in a separate process. It has no
settings, no secrets, little memory beyond what its libraries need, no core dump, and a folder of
its own that is removed when it ends; `confinement` says what else it cannot reach. It is stopped if
it sends no message for too long, and ends with the process that started it.

Its messages are lines of JSON, which bytes may follow. Nothing that it says is trusted: messages
are short, and each is checked before it is used.

The key of the persons' hashes and the list of erased persons stay in the calling process. The
sandbox passes names of persons and gets no answer (`row_messages`), so it learns no hash, and not
who was erased. Code that took it over can make up rows, but only rows that its uploader could have
put into a plain file, and neither rows nor report tell that uploader more than such a file would.

Plain text formats are read in the calling process by our own code, which bounds its memory.
"""

from __future__ import annotations

import errno
import fcntl
import json
import operator
import os
import re
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
MAX_LINE_BYTES = 16 << 20
"""Longest message. Parsed, it takes up to twenty times as much memory here."""

MAX_FOLLOWING_BYTES = 128 << 20
"""Most bytes that may follow a message. A batch of rows takes a few megabytes, and with the longest
names that its reader accepts, less than this.
"""

CHUNK_BYTES = 1 << 20

MAX_NUMBER = (1 << 63) - 1
MAX_ERRNO = 4_095

LEFT_FREE = 512 << 20
"""Number of bytes of disk space below which the worker is stopped, as if the disk were full.

So the database, and whatever else is on the disk, does not run short meanwhile. A disk that has
less from the start is left to fill.
"""

FILES_LEFT_FREE = 10_000
"""Number of files that a disk has to have room for, in the same way."""

SECONDS_BETWEEN_LOOKS = 0.25
"""Seconds between two looks at the free space while the worker runs."""

ENDING_SECONDS = 30
"""Seconds within which the worker has to end once it has closed its output."""

PLACE = re.compile(r"[\w.]{1,80} at ([\w<>.-]{1,80}:\d{1,7}( > )?){0,6}")
"""What the worker says of an unforeseen error: its type and lines of programs, nothing else."""

OF_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
"""Errors of a disk that is full or may not be written."""

T = TypeVar("T")


def run(
    task: str,
    request: Mapping[str, Any],
    folder: Path,
    progress: Callable[[int, int], None],
    read: Callable[[Any], T],
    *,
    take: Callable[[dict[str, Any], bytes], None] | None = None,
    silence: float = 120,
    limit: float | None = None,
) -> T:
    """Run a task of `sandbox_worker` on a request; return the task's result, parsed by `read`.

    The worker may write in `folder`. `progress` is called with each progress message of the worker,
    and stops the worker by raising an exception. `take` is called with each message that brings
    rows, and the bytes that follow it. The worker is also stopped after `silence` seconds without a
    message, when it exceeds the processor time of its task, and after `limit` seconds in all.

    Raises InvalidInput for problems of the file: the worker refuses it, crashes on it, sends no
    message for too long or computes for too long. Raises Conflict after `limit` seconds, since a
    busy machine may be the reason; OSError for the system's errors that the worker reports, and
    before it fills the disk; or RuntimeError for internal errors and for messages that
    `sandbox_worker` never sends.
    """
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - our own module, with no argument from outside
        [sys.executable, "-P", "-m", "dpgeo.ingest.sandbox_worker", task, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**environment, **FIXED, "TMPDIR": str(folder)},
        cwd=folder,
        start_new_session=True,  # no terminal of the server's
    )
    try:
        _send(process, request)
        for message, content in _messages(_output(process, folder, silence, limit)):
            if "rows" in message and take is not None:
                take(message, content)
            elif "progress" in message:
                progress(*understand(_progress, message["progress"]))
            elif "result" in message:
                return understand(read, message["result"])
            else:
                _raise(message, folder)
        raise _ended_by(process.wait(ENDING_SECONDS))
    except subprocess.TimeoutExpired:
        raise RuntimeError("The worker has closed its output and goes on.") from None
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


def _messages(output: Iterator[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the worker's messages, each with the bytes that follow it. Raises RuntimeError."""
    waiting = bytearray()
    message: dict[str, Any] | None = None
    size = 0
    for chunk in output:
        waiting += chunk
        while message is not None or b"\n" in waiting:
            if message is None:
                end = waiting.index(b"\n")
                message, size = understand(_message, bytes(waiting[:end]))
                del waiting[: end + 1]
            if len(waiting) < size:
                break
            content = bytes(waiting[:size])
            del waiting[:size]
            yield message, content
            message = None
        if message is None and len(waiting) > MAX_LINE_BYTES:
            raise RuntimeError("The worker says more than it may.")


def _output(
    process: subprocess.Popen[bytes], folder: Path, silence: float, limit: float | None
) -> Iterator[bytes]:
    """Yield the worker's output until it ends. Raises InvalidInput, Conflict or OSError."""
    if process.stdout is None:
        raise RuntimeError("The worker has no standard output.")
    pipe: IO[bytes] = process.stdout
    if sys.platform == "linux":
        with suppress(OSError):  # an account may only have so many large pipes
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, CHUNK_BYTES)  # so the worker goes on meanwhile
    heard = time.monotonic()
    end = inf if limit is None else heard + limit
    watched = _has_room(folder)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            remaining = min(heard + silence, end) - time.monotonic()
            if remaining <= 0:
                raise _too_slow() if heard + silence < end else _too_busy()
            ready = selector.select(min(remaining, SECONDS_BETWEEN_LOOKS))
            if watched and not _has_room(folder):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if not ready:
                continue
            chunk = os.read(pipe.fileno(), CHUNK_BYTES)
            if not chunk:
                return
            yield chunk
            heard = time.monotonic()


def _has_room(folder: Path) -> bool:
    """Return whether the disk of a folder has more free space than the worker has to leave."""
    disk = os.statvfs(folder)
    has_files = disk.f_files == 0 or disk.f_favail > FILES_LEFT_FREE  # some do not count them
    return has_files and disk.f_bavail * disk.f_frsize > LEFT_FREE


def _message(line: bytes) -> tuple[dict[str, Any], int]:
    """Return a message, and how many bytes follow it. Raises ValueError or TypeError."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise TypeError(type(message).__name__)
    size = operator.index(message.get("bytes", 0))
    if not 0 <= size <= MAX_FOLLOWING_BYTES:
        raise ValueError(size)
    return message, size


def _progress(numbers: Any) -> tuple[int, int]:
    """Return how much is done, and of how much. Raises ValueError or TypeError."""
    done, total = (operator.index(each) for each in numbers)
    if not (0 <= done <= MAX_NUMBER and 0 <= total <= MAX_NUMBER):
        raise ValueError(done)
    return done, total


def _raise(message: Mapping[str, Any], folder: Path) -> None:
    if "refused" in message:
        phrase = understand(Phrase.from_json, message["refused"])
        raise InvalidInput(phrase, field=str(message.get("field"))[:40])
    number = message.get("errno")
    if isinstance(number, int) and 0 < number <= MAX_ERRNO:
        if number in OF_DISK and _has_room(folder):
            # A job waits for ever while a disk is full, so the worker's word is not enough.
            raise RuntimeError("The worker found no space on a disk that has some.")
        raise OSError(number, os.strerror(number))
    place = message.get("failed")
    if isinstance(place, str) and PLACE.fullmatch(place):
        raise RuntimeError(f"Reading the file went wrong here: {place}")
    raise RuntimeError("The worker says what it may not.")


def understand(read: Callable[[Any], T], answer: Any) -> T:
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
