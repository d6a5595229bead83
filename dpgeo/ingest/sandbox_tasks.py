"""Tasks of the sandbox process, and the limits of each; `sandbox_worker` runs them."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dpgeo.ingest.confinement import limit
from dpgeo.ingest.context import Context
from dpgeo.ingest.decompress import MAX_BYTES, Part, find_packing, unpack
from dpgeo.ingest.forms import Form, find_form
from dpgeo.ingest.ingestion import batches_of, read_batches
from dpgeo.ingest.layer_file import LayerChoices
from dpgeo.ingest.layer_reader import MAX_UNPACKED_BYTES, convert_layer, restrict_drivers
from dpgeo.ingest.parts import format_of
from dpgeo.ingest.preview import preview_here
from dpgeo.ingest.report import Tally
from dpgeo.ingest.row_messages import packed
from dpgeo.ingest.schema import Columns, Schema

PREVIEW_BYTES = 32 << 20
"""Number of bytes of a compressed text file that are unpacked for its preview."""

PREVIEW_PARTS = 5
"""Number of files of an archive that are unpacked for its preview."""

PREVIEW_SECONDS = 60
"""Seconds of processor time after which a preview or the reading of a layer is refused.

A limit on elapsed time would also refuse good files when the machine is busy.
"""

INGEST_SECONDS = 12 * 3600
"""Seconds of processor time after which the reading of all rows is refused.

The largest files take an hour or two.
"""

PROCESSOR_SECONDS = {"preview": PREVIEW_SECONDS, "ingest": INGEST_SECONDS, "layer": PREVIEW_SECONDS}
FILE_BYTES = {"preview": MAX_BYTES, "ingest": MAX_BYTES, "layer": MAX_UNPACKED_BYTES}
"""Largest file that each task may write, in bytes: no good file takes more when it is unpacked."""

Say = Callable[..., None]
"""Sends a message, and the bytes of arrays after it."""


def preview(request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Unpack a file and preview its first rows."""
    source, name, declared = Path(request["source"]), request["file_name"], request["file_format"]
    packing = find_form(declared).packing if declared else find_packing(source)

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

    parts = unpacked(PREVIEW_BYTES)
    form = find_form(declared) if declared else Form(format_of(parts), packing)
    if form.format.sandboxed:
        parts = unpacked(MAX_BYTES)
    columns = request["columns"] and Columns.from_json(request["columns"])
    seen = preview_here(parts, Context.from_json(request["context"]), form, columns)
    cut = len(parts) == PREVIEW_PARTS or parts[0].path.stat().st_size >= PREVIEW_BYTES
    if cut and seen.understanding:
        seen = replace(seen, understanding=replace(seen.understanding, whole=False))
    return seen.to_json()


def ingest(request: dict[str, Any], say: Say) -> dict[str, Any]:
    """Unpack and read a file, and send its accepted rows."""
    schema = Schema.from_json(request["schema"])
    declared = schema.columns.file_format
    parts = unpack(
        Path(request["source"]),
        request["file_name"],
        Path.cwd(),
        lambda: say({"progress": [0, 0]}),
        packing=find_form(declared).packing if declared else None,
    )
    tally = Tally()
    pack = partial(packed, schema=schema)
    batches = batches_of(parts, schema, tally)
    for (message, arrays), done, total in read_batches(batches, tally, pack):
        say(message, *arrays)
        say({"progress": [done, total]})
    return tally.report().to_json()


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


def load_libraries(task: str) -> None:
    """Import the libraries that a task needs, so that their memory is not counted as the task's."""
    import pyarrow.compute
    import pyarrow.parquet

    if task == "layer":
        import geopandas  # noqa: F401 - with pyogrio and pyproj

        restrict_drivers()

    pyarrow.set_cpu_count(2)
    pyarrow.set_io_thread_count(2)


def limit_task(task: str) -> None:
    """Limit the processor time of this process, and the files that it writes."""
    limit(resource.RLIMIT_CPU, PROCESSOR_SECONDS[task], beyond=5)
    limit(resource.RLIMIT_FSIZE, FILE_BYTES[task])
