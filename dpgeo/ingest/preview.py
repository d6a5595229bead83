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
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.forms import Form, find_form, form_by_name
from dpgeo.ingest.report import MAX_FIELD_BYTES
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.sniff import form_read_here
from dpgeo.ingest.understanding import Understanding
from dpgeo.phrases import Phrase

ROWS_SHOWN = 20
MAX_WAIT = 300
"""Seconds after which a preview is abandoned because the machine is too busy.

The limit on processor time, for files that take too much work, is in `sandbox_worker`.
"""


@dataclass(frozen=True, slots=True)
class Preview:
    """What an owner sees of an upload before declaring its schema. It is private.

    `columns` are the column names, `rows` the first rows as text (cut short), `suggested` the
    columns that the header suggests ("" for none), and `hints` sentences about suspicious values.
    `understanding` says how the rows were read under a declaration, or is None if none could be
    tried.
    """

    columns: list[str]
    rows: list[list[str]]
    suggested: Columns
    hints: list[Phrase]
    complete: bool = True
    """Whether `columns` are all columns of the file; in GeoJSON, later features may have others."""
    file_format: str = ""
    """Code of the format in which the file was read (`forms`)."""
    named_format: str = ""
    """Code of the format that the names of the file and its archive's members indicate, or ""."""
    understanding: Understanding | None = None
    by_header: bool = True
    """Whether the rows had no say in how `columns` were read."""

    @property
    def tells_columns(self) -> bool:
        """Whether the column names, and the format they were read in, do not depend on any row.

        This is so if the file's name indicates its format, and a header names all columns.
        """
        named = bool(self.file_format) and self.file_format == self.named_format
        return self.complete and self.by_header and named and not self.suggested.unnamed

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the preview from JSON written by `to_json`. Raises ValueError for other types.

        The sandbox's process writes it, and is not trusted: a file may have taken it over.
        """
        cells = [cell for row in document["rows"] for cell in row]
        names = document["columns"]
        codes = [document.get("file_format", ""), document.get("named_format", "")]
        possible = (
            isinstance(names, list)
            and all(isinstance(name, str) for name in names)
            and len(document["rows"]) <= ROWS_SHOWN
            and all(isinstance(row, list) for row in document["rows"])
            and all(isinstance(cell, str) and len(cell) <= MAX_FIELD_BYTES for cell in cells)
            and all(isinstance(code, str) and (not code or find_form(code)) for code in codes)
            and all(type(document.get(name, True)) is bool for name in ("complete", "by_header"))
        )
        if not possible:
            raise ValueError("This is no preview.")
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
    file_format: str = "",
) -> Preview:
    """Preview the first rows of an upload, and try to read them under a declaration.

    `context` holds the dataset's declared facts, and `columns` is the declaration to try, by
    default the likeliest one. `file_format` is the code of the format to try, by default that of
    `columns` or else the likeliest one. `folder`, by default the system's temporary folder, is used
    for unpacking. If a file is neither compressed nor binary, only its head and a sample of the
    rest are read, whatever the size. Raises InvalidInput (field "file") if the file cannot be read
    as a table at all, or Conflict if the machine is too busy.
    """
    file_format = file_format or (columns.file_format if columns else "")
    if form := form_read_here(path, file_name, file_format):
        return preview_here([Part(path, file_name)], context, form, columns)

    request = {
        "source": str(path.absolute()),
        "file_name": file_name,
        "context": context.to_json(),
        "columns": columns and columns.to_json(),
        "file_format": file_format,
    }
    with tempfile.TemporaryDirectory(prefix="dpgeo-preview-", dir=folder) as unpacked:
        return sandbox.run(
            "preview",
            request,
            Path(unpacked),
            lambda done, total: None,
            Preview.from_json,
            silence=inf,
            limit=MAX_WAIT,
        )


def preview_here(
    parts: Sequence[Part], context: Context, form: Form, columns: Columns | None = None
) -> Preview:
    """Preview unpacked files of a known form in this process.

    Raises InvalidInput (field "file").
    """
    from dpgeo.ingest.column_guess import hints, suggest
    from dpgeo.ingest.parts import find_reader
    from dpgeo.ingest.understand import understand

    reader, path = find_reader(parts, form.format), parts[0].path
    head = reader.first_rows(path, None if columns is None else columns.layout)
    head = replace(head, file_format=form.code)
    suggested = suggest(head.names, head.geometry, head.crs)
    suggested = replace(suggested, **head.layout.to_json(), file_format=form.code)
    sentences: list[Phrase] = []
    try:
        tried = understand(reader, path, head, context, columns)
    except InvalidInput as error:
        if columns is not None:
            raise
        tried, sentences = None, [error.phrase]
    sentences += hints(head.names, head.rows, tried.columns if tried else suggested, context.area)
    rows = head.rows[:ROWS_SHOWN]
    named = form_by_name(parts[0].name)
    named = f"{named}.{form.packing}" if named and form.packing else named
    return Preview(
        columns=head.names,
        rows=rows,
        suggested=suggested,
        hints=sentences,
        complete=head.complete,
        file_format=form.code,
        named_format=named,
        understanding=tried,
        by_header=head.names_stand_alone,
    )
