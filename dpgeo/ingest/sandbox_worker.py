"""Sandbox process that reads files: `python -m dpgeo.ingest.sandbox_worker TASK`.

It reads the request as one line of JSON and answers with lines of JSON: progress, then a result, a
refusal or a failure. For an unforeseen error, only the type and the location are reported, since
the error's message may quote the file.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.context import Context
from dpgeo.ingest.decompress import MAX_BYTES, Part, packing_of, unpack
from dpgeo.ingest.forms import Form, form_of
from dpgeo.ingest.ingestion import ingest_parts
from dpgeo.ingest.layer_file import LayerChoices
from dpgeo.ingest.layer_reader import convert_layer, restrict_drivers
from dpgeo.ingest.parts import format_of
from dpgeo.ingest.preview import preview_here
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.phrases import Phrase

MEMORY_BYTES = 512 << 20
"""Bytes of memory that a task may use beyond those of the loaded libraries."""

MAX_OPEN_FILES = 64
PREVIEW_BYTES = 32 << 20
"""Number of bytes of a compressed text file that are unpacked for its preview."""

PREVIEW_PARTS = 5
"""Number of files of an archive that are unpacked for its preview."""

PREVIEW_SECONDS = 60
"""Seconds of processor time after which a preview or the reading of a layer is refused.

A limit on elapsed time would also refuse good files when the machine is busy.
"""

Say = Callable[[dict[str, Any]], None]


def preview(request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Unpack a file and preview its first rows."""
    source, name, declared = Path(request["source"]), request["file_name"], request["file_format"]
    packing = form_of(declared).packing if declared else packing_of(source)

    def unpacked(enough: int) -> list[Part]:
        return unpack(
            source,
            name,
            Path.cwd(),
            lambda: None,
            packing=packing,
            enough=enough,
            most=PREVIEW_PARTS,
        )

    os.nice(10)  # processes that serve visitors get a higher priority than this one
    parts = unpacked(PREVIEW_BYTES)
    form = form_of(declared) if declared else Form(format_of(parts), packing)
    if form.format.sandboxed:
        parts = unpacked(MAX_BYTES)
    columns = request["columns"] and Columns.from_json(request["columns"])
    seen = preview_here(parts, Context.from_json(request["context"]), form, columns)
    cut = len(parts) == PREVIEW_PARTS or parts[0].path.stat().st_size >= PREVIEW_BYTES
    if cut and seen.understanding:
        seen = replace(seen, understanding=replace(seen.understanding, whole=False))
    return seen.to_json()


def ingest(request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Unpack and read a file into `canonical.parquet` in the working folder."""
    folder = Path.cwd()
    schema = Schema.from_json(request["schema"])
    declared = schema.columns.file_format
    parts = unpack(
        Path(request["source"]),
        request["file_name"],
        folder,
        lambda: say({"progress": [0, 0]}),
        packing=form_of(declared).packing if declared else None,
    )
    report = ingest_parts(
        parts,
        schema,
        bytes.fromhex(request["key"]),
        folder / "canonical.parquet",
        lambda done, total: say({"progress": [done, total]}),
        [bytes.fromhex(one) for one in request["erased"]],
    )
    return report.to_json()


def layer(request: dict[str, Any], say: Say) -> str:
    """Convert the file of a public layer to GeoJSON in the working folder."""
    choices = LayerChoices.from_json(request["choices"])
    convert_layer(Path(request["source"]), choices, Path.cwd())
    return "converted"


TASKS: dict[str, Callable[[dict[str, Any], Say], Any]] = {
    "preview": preview,
    "ingest": ingest,
    "layer": layer,
}


def limit_memory(task: str) -> None:
    """Load the libraries, then limit the memory that the process may take beyond them."""
    import pyarrow.compute
    import pyarrow.parquet

    if task == "layer":
        import geopandas  # noqa: F401 - with pyogrio and pyproj
        import pyogrio  # noqa: F401

    pyarrow.set_cpu_count(2)
    pyarrow.set_io_thread_count(2)
    sizes = Path("/proc/self/statm")
    if sizes.exists():
        taken = int(sizes.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY_BYTES,) * 2)


def answer(task: str, request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Run a task and return the last message: its result, a refusal or a failure."""
    try:
        limit_memory(task)
        return {"result": TASKS[task](request, say)}
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
        return {"errno": error.errno}
    except Exception as error:  # a fault of the program, not of the file
        return {"failed": _place(error)}


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {places}"


def main() -> None:
    """Answer the request on standard input, within the sandbox's limits.

    Standard output is reserved for messages; anything that libraries print goes to standard error.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES,) * 2)
    if sys.argv[1] == "layer":
        restrict_drivers()
    if sys.argv[1] in {"preview", "layer"}:
        resource.setrlimit(resource.RLIMIT_CPU, (PREVIEW_SECONDS, PREVIEW_SECONDS + 5))
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)

        def say(message: dict[str, Any]) -> None:
            output.write(json.dumps(message).encode() + b"\n")
            output.flush()

        say(answer(sys.argv[1], json.loads(sys.stdin.buffer.readline()), say))


if __name__ == "__main__":
    main()
