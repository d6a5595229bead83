"""Registry of upload formats, one line each. Light to import: readers are loaded when used.

A new format is one module, which reads it, and one line of `FORMATS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpgeo.ingest.batch import Reader

SEQUENCE_NAMES = {".geojsonl", ".geojsons", ".geojsonseq", ".ndgeojson", ".ndjson", ".jsonl"}

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning of a file: its first bytes, where it lies, and what its owner calls it."""

    head: bytes
    path: Path
    file_name: str

    @property
    def suffix(self) -> str:
        """The ending of the owner's name, in lower case: ".csv"."""
        return Path(self.file_name).suffix.lower()

    @property
    def text(self) -> bytes:
        """The first bytes without a byte order mark and white space before them."""
        return self.head.removeprefix(BYTE_ORDER_MARK).lstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFormat:
    """An upload format: its name, its reader, usual endings, and how a file of it is recognised.

    `reader` is "module.ATTRIBUTE" of this room, a `batch.Reader`. Files of a binary format begin
    with `magic` and are read in the sandbox; text is recognised by `matches`.
    """

    title: str
    reader: str
    suffixes: tuple[str, ...]
    magic: bytes = b""
    matches: Callable[[Start], bool] | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is read by our own code, from its beginning on, in this process."""
        return not self.magic

    def matches_start(self, start: Start) -> bool:
        """Whether a file that begins so is of this format."""
        if self.magic:
            return start.head.startswith(self.magic)
        return self.matches is not None and self.matches(start)

    def load_reader(self) -> Reader:
        """The reader, imported now."""
        module, name = self.reader.split(".")
        reader: Reader = getattr(importlib.import_module(f"dpgeo.ingest.{module}"), name)
        return reader


def _is_json(start: Start) -> bool:
    return start.text.startswith((b"{", b"\x1e"))


def _is_json_sequence(start: Start) -> bool:
    """Lines of JSON, by a name that says so, or for want of a list of features.

    A name that says "lines" settles it, so that no first line, whatever it holds, can.
    """
    from dpgeo.ingest.geojson_reader import read_preamble

    if not _is_json(start):
        return False
    if start.suffix in SEQUENCE_NAMES:
        return True
    with start.path.open("rb") as file:
        return read_preamble(file) is None


def _is_anything(start: Start) -> bool:
    return True


FORMATS = (
    InputFormat(
        title="Parquet",
        reader="parquet_reader.READER",
        suffixes=(".parquet", ".geoparquet"),
        magic=b"PAR1",
    ),
    InputFormat(
        title="GeoPackage",
        reader="geopackage_reader.READER",
        suffixes=(".gpkg",),
        magic=b"SQLite format 3\x00",
    ),
    InputFormat(
        title="newline-delimited GeoJSON",
        reader="geojson_reader.SEQUENCE_READER",
        suffixes=(".geojsonl", ".ndjson"),
        matches=_is_json_sequence,
    ),
    InputFormat(
        title="GeoJSON",
        reader="geojson_reader.DOCUMENT_READER",
        suffixes=(".geojson", ".json"),
        matches=_is_json,
    ),
    InputFormat(
        title="CSV",
        reader="csv_reader.READER",
        suffixes=(".csv", ".tsv", ".txt"),
        matches=_is_anything,
    ),
)
"""In the order in which they are tried; CSV, which takes any text, comes last."""

SUFFIXES = tuple(suffix for form in FORMATS for suffix in form.suffixes)
"""The usual endings of all formats, for file choosers."""
