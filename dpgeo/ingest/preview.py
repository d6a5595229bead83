"""Preview of an upload's first rows for its owner, before the schema is declared."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Self

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import sandbox
from dpgeo.ingest.context import ANYWHERE, Context
from dpgeo.ingest.decompress import Part, is_packed
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.sniff import sniff
from dpgeo.ingest.understanding import Understanding
from dpgeo.phrases import Phrase

ROWS_SHOWN = 20
LONGEST_WAIT = 300
"""Seconds after which a preview is given up because the machine is too busy. The limit on processor
time, for files that take too much work, is in `sandbox_worker`."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What an owner sees of an upload before declaring its schema. Private.

    `columns` are the column names, `rows` the first rows as text (cut short), `suggested` the
    columns that the header suggests ("" for none), and `hints` sentences about suspicious values.
    `understanding` is what was understood of the rows, too; None if nothing could be tried.
    """

    columns: list[str]
    rows: list[list[str]]
    suggested: Columns
    hints: list[Phrase]
    complete: bool = True
    """Whether these are all columns: later features of GeoJSON may have others."""
    understanding: Understanding | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        read: dict[str, Any] = {
            "suggested": Columns.from_json(document["suggested"]),
            "hints": list(map(Phrase.from_json, document["hints"])),
        }
        if document.get("understanding"):
            read["understanding"] = Understanding.from_json(document["understanding"])
        return cls(**{**document, **read})

    def to_json(self) -> dict[str, Any]:
        """Return the preview as plain JSON."""
        tried = self.understanding and self.understanding.to_json()
        plain = asdict(replace(self, understanding=None))
        return plain | {"hints": [hint.to_json() for hint in self.hints], "understanding": tried}


def preview(
    path: Path,
    file_name: str,
    context: Context = ANYWHERE,
    folder: Path | None = None,
    columns: Columns | None = None,
) -> Preview:
    """Preview the head of an upload, and try to read it.

    `context` is what the dataset declares, and `columns` the declaration to be tried, by default
    the likeliest one. `folder`, by default the system's temporary folder, is for unpacking. For
    files that are neither compressed nor binary only the head and a sample of the rest are read,
    whatever the size. Raises InvalidInput (field "file") when the file cannot be read as a table at
    all, and Conflict where the machine is too busy.
    """
    if not is_packed(path) and not sniff(path, file_name).sandboxed:
        return preview_here([Part(path, file_name)], context, columns)

    request = {
        "source": str(path.absolute()),
        "file_name": file_name,
        "context": context.to_json(),
        "columns": columns and columns.to_json(),
    }
    with tempfile.TemporaryDirectory(prefix="dpgeo-preview-", dir=folder) as unpacked:
        return sandbox.run(
            "preview",
            request,
            Path(unpacked),
            lambda done, total: None,
            Preview.from_json,
            silence=inf,
            limit=LONGEST_WAIT,
        )


def preview_here(
    parts: Sequence[Part], context: Context = ANYWHERE, columns: Columns | None = None
) -> Preview:
    """Preview unpacked files in this process. Raises InvalidInput (field "file")."""
    from dpgeo.ingest.column_guess import hints, suggest
    from dpgeo.ingest.parts import reader_of
    from dpgeo.ingest.understand import understand

    reader, path = reader_of(parts), parts[0].path
    head = reader.first_rows(path, None if columns is None else columns.layout)
    suggested = suggest(head.names, head.geometry, head.crs)
    suggested = replace(suggested, **head.layout.to_json())
    try:
        tried = understand(reader, path, head, context, columns)
    except InvalidInput:
        if columns is not None:
            raise
        tried = None
    sentences = hints(head.names, head.rows, tried.columns if tried else suggested, context.area)
    return Preview(head.names, head.rows[:ROWS_SHOWN], suggested, sentences, head.complete, tried)
