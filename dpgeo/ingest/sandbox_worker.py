"""Sandbox process that reads files: `python -m dpgeo.ingest.sandbox_worker TASK PARENT`.

PARENT is the id of the process that started it. It reads the request as one line of JSON and
answers with lines of JSON: progress, then a result, a refusal or a failure. For an unforeseen
error, only the type and the location are reported, since the error's message may quote the file.

The request is the program's own. After it is read, and before any byte of the file is, the process
gives up everything but the file and its working folder (`confinement`). That has to be done while
it has a single thread, and Arrow starts another when it is imported, so this module imports neither
Arrow nor the tasks (`sandbox_tasks`) before.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.confinement import confine, die_with, limit
from dpgeo.phrases import Phrase

MEMORY_BYTES = 512 << 20
"""Bytes of memory that a task may use beyond those of the loaded libraries."""

MAX_OPEN_FILES = 64

Say = Callable[..., None]
Task = Callable[[dict[str, Any], Say], Any]


def prepare(task: str, request: dict[str, Any]) -> Task:
    """Confine this process, load a task, and limit what it may take."""
    path = Path("/proc/self/statm")
    sizes = path.open() if path.exists() else None  # confined, the process could not open it
    confine(Path(request["source"]), Path.cwd())
    loaded = load(task)
    if sizes:
        with sizes:
            taken = int(sizes.read().split()[0]) * resource.getpagesize()
        limit(resource.RLIMIT_AS, taken + MEMORY_BYTES)
    return loaded


def load(task: str) -> Task:
    """Import a task and the libraries that it needs, and set its limits."""
    from dpgeo.ingest import sandbox_tasks

    sandbox_tasks.load_libraries(task)
    sandbox_tasks.limit_task(task)
    return sandbox_tasks.TASKS[task]


def answer(task: str, request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Run a task and return the last message: its result, a refusal or a failure."""
    try:
        run = prepare(task, request)
        return {"result": run(request, say)}
    except InvalidInput as refusal:
        return {"refused": refusal.phrase.to_json(), "field": refusal.field}
    except MemoryError:
        too_much = Phrase(
            "Reading the file takes more than {size} MB of memory: a value in it is huge, or it is "
            "damaged. Export only the columns a map needs, in row groups of 100,000 rows or so.",
            size=MEMORY_BYTES >> 20,
        )
        return {"refused": too_much.to_json(), "field": "file"}
    except OSError as error:
        if error.errno is None:
            return {"failed": _place(error)}
        if error.errno == errno.EFBIG:
            return {"refused": _too_large().to_json(), "field": "file"}
        return {"errno": error.errno}
    except Exception as error:  # a fault of the program, not of the file
        return {"failed": _place(error)}


def _too_large() -> Phrase:
    return Phrase(
        "Reading the file takes a temporary file of more than {size} GiB; upload it in several "
        "parts.",
        size=resource.getrlimit(resource.RLIMIT_FSIZE)[0] >> 30,
    )


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {places}"


def main() -> None:
    """Answer the request on standard input, within the sandbox's limits.

    Standard output is reserved for messages; anything that libraries print goes to standard error.
    """
    task, parent = sys.argv[1], int(sys.argv[2])
    die_with(parent)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    if task == "layer" and "GDAL_SKIP" not in os.environ:
        from dpgeo.ingest.layer_reader import restrict_drivers

        restrict_drivers()  # starts this program again
    if task == "preview":
        os.nice(10)  # processes that serve visitors get a higher priority than this one
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)

        def say(message: dict[str, Any], *arrays: Any) -> None:
            if arrays:
                message = {**message, "bytes": sum(each.nbytes for each in arrays)}
            text = json.dumps(message, ensure_ascii=False)
            output.write(text.encode(errors="surrogatepass") + b"\n")
            for each in arrays:
                output.write(each)
            output.flush()

        say(answer(task, json.loads(sys.stdin.buffer.readline()), say))


if __name__ == "__main__":
    main()
