"""Preview of an upload's first rows for its owner, before the schema is declared."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any, Self

from dpgeo.ingest import sandbox
from dpgeo.ingest.column_guess import hints, suggest
from dpgeo.ingest.decompress import is_packed
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.sniff import sniff
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea

ROWS_SHOWN = 20
LONGEST_WAIT = 300
"""Seconds after which a preview is given up because the machine is too busy. The limit on processor
time, for files that take too much work, is in `sandbox_worker`."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What an owner sees of an upload before declaring its schema. Private.

    `columns` are the column names, `rows` the first rows as text (cut short), `suggested` the
    suggested columns ("" for none), and `hints` sentences about suspicious values.
    """

    columns: list[str]
    rows: list[list[str]]
    suggested: Columns
    hints: list[Phrase]
    complete: bool = True
    """Whether these are all columns: later features of GeoJSON may have others."""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        read = {
            "suggested": Columns.from_json(document["suggested"]),
            "hints": list(map(Phrase.from_json, document["hints"])),
        }
        return cls(**{**document, **read})

    def to_json(self) -> dict[str, Any]:
        """Return the preview as plain JSON."""
        return asdict(self) | {"hints": [hint.to_json() for hint in self.hints]}


def preview(
    path: Path, file_name: str, area: StudyArea | None = None, folder: Path | None = None
) -> Preview:
    """Preview the head of an upload.

    `area` improves the hints. `folder`, by default the system's temporary folder, is for unpacking.
    For files that are neither compressed nor binary only the head is read, whatever the size.
    Raises InvalidInput (field "file") when the file cannot be read as a table at all, and Conflict
    where the machine is too busy.
    """
    if not is_packed(path) and not sniff(path, file_name).sandboxed:
        return preview_here(path, file_name, area)

    request = {
        "source": str(path.absolute()),
        "file_name": file_name,
        "area": area and area.to_geojson(),
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


def preview_here(path: Path, file_name: str, area: StudyArea | None = None) -> Preview:
    """Preview an unpacked file in this process. Raises InvalidInput (field "file")."""
    head = sniff(path, file_name).load_reader().head(path)
    suggested = suggest(head.names, head.geometry, head.crs)
    sentences = hints(head.names, head.rows, suggested, area)
    return Preview(head.names, head.rows[:ROWS_SHOWN], suggested, sentences, head.complete)
