"""Registry of upload formats, with readers that are imported when first used.

To add a format, write a module with its reader and add one line to `FORMATS`.
"""

from __future__ import annotations

import importlib
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpgeo.ingest.batch import Reader
from dpgeo.ingest.decompress import is_sheet

ROW_NAMES = {".jsonl", ".ndjson"}
SEQUENCE_NAMES = {*ROW_NAMES, ".geojsonl", ".geojsons", ".geojsonseq", ".ndgeojson"}

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning of a file: its first bytes, its path, and its owner's name for it."""

    head: bytes
    path: Path
    file_name: str

    @property
    def suffix(self) -> str:
        """Suffix of the owner's name for the file, in lower case, such as ".csv"."""
        return Path(self.file_name).suffix.lower()

    @property
    def text(self) -> bytes:
        """First bytes without a leading byte order mark and white space."""
        return self.head.removeprefix(BYTE_ORDER_MARK).lstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFormat:
    """An upload format: name, reader, suffixes, and the test (`matches`) that recognises its files.

    `code` is what owners declare, with any packing (`forms`), and `names` are further suffixes that
    indicate the format. `reader` is "module.ATTRIBUTE" within this package and refers to a
    `batch.Reader`. A `sandboxed` format is read in a separate process (`sandbox`). The others are
    read in this process, by no parser but those of this package and the standard library. If
    `like_rows` is true, a row of a CSV file may begin as such a file does. If `has_header` is true,
    column names are stored apart from the rows.
    """

    title: str
    code: str
    reader: str
    suffixes: tuple[str, ...]
    matches: Callable[[Start], bool]
    sandboxed: bool
    like_rows: bool = False
    names: tuple[str, ...] = ()
    has_header: bool = False

    def load_reader(self) -> Reader:
        """Return the format's reader, whose module is imported at the first call."""
        module, name = self.reader.split(".")
        reader: Reader = getattr(importlib.import_module(f"dpgeo.ingest.{module}"), name)
        return reader


def _begins_with(magic: bytes) -> Callable[[Start], bool]:
    return lambda start: start.head.startswith(magic)


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of Office documents in the formats used before 2007."""


def _is_sheet(start: Start) -> bool:
    """Return whether a file is a spreadsheet; the newer kinds are zip archives."""
    if not start.head.startswith(b"PK\x03\x04"):
        return start.head.startswith(OLE)
    try:
        with zipfile.ZipFile(start.path) as archive:
            return is_sheet(archive)
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def _is_xml(name: bytes) -> Callable[[Start], bool]:
    """Return a test for XML documents with this outermost element, which may follow comments."""

    def matches(start: Start) -> bool:
        bare = re.sub(rb"<[?!].*?>", b"", start.text, flags=re.DOTALL).lstrip()
        return re.match(rb"<(\w+:)?" + name + rb"[\s>]", bare) is not None

    return matches


def _is_trips(start: Start) -> bool:
    """Return whether a file is a Mobility Data Specification document with a list of trips."""
    if not _is_json(start) or start.suffix in SEQUENCE_NAMES or _has_rows_by_line(start):
        return False
    return _has_list(start)


def _has_rows_by_line(start: Start) -> bool:
    """Return whether each of the first two lines that are not blank is a complete object."""
    lines = [line for line in start.text.splitlines() if line.strip()][:2]
    return len(lines) == 2 and all(map(_is_object, lines))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_list(start: Start) -> bool:
    return start.text.startswith(b"[") and _has_list(start)


def _has_list(start: Start, members: Sequence[str] = ("trips",)) -> bool:
    from dpgeo.ingest.json_records import find_list

    with start.path.open("rb") as file:
        return find_list(file, members) is not None


def _is_json_rows(start: Start) -> bool:
    """Return whether the name of a JSON file says that its lines are plain objects (not features).

    The lines are not looked at, because one row must not decide how others are read.
    """
    return start.suffix in ROW_NAMES and _is_json(start)


def _has_member(name: str) -> Callable[[Start], bool]:
    """Return a test for JSON documents whose rows are the list in this member."""

    def matches(start: Start) -> bool:
        if not start.text.startswith(b"{") or f'"{name}"'.encode() not in start.head:
            return False
        return _has_list(start, (name,))

    return matches


def _is_timeline(start: Start) -> bool:
    """Return whether a file is a Timeline, as Android (an object) or iOS (a list) exports it."""
    if start.text.startswith(b"["):
        first = start.text[:2_000]
        kinds = (b'"visit"', b'"activity"', b'"timelinePath"')
        return b'"startTime"' in first and any(kind in first for kind in kinds)
    return _has_member("semanticSegments")(start)


def _is_recording(start: Start) -> bool:
    """Return whether the name says that a file is a recording of OwnTracks."""
    return start.suffix == ".rec"


def _is_json(start: Start) -> bool:
    return start.text.startswith((b"{", b"\x1e"))


def _is_json_sequence(start: Start) -> bool:
    """Return whether a file is newline-delimited JSON.

    The file must start like JSON. With a suffix in SEQUENCE_NAMES, it is newline-delimited whatever
    the first line holds; with any other name, it is newline-delimited if it has no feature list.
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
        title="(Geo)Parquet",
        code="parquet",
        reader="parquet_reader.READER",
        suffixes=(".parquet", ".geoparquet"),
        matches=_begins_with(b"PAR1"),
        sandboxed=True,
        has_header=True,
    ),
    InputFormat(
        title="GeoPackage",
        code="gpkg",
        reader="geopackage_reader.READER",
        suffixes=(".gpkg",),
        matches=_begins_with(b"SQLite format 3\x00"),
        sandboxed=True,
        has_header=True,
    ),
    InputFormat(
        title="Excel",
        code="excel",
        reader="sheet_reader.READER",
        suffixes=(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
        matches=_is_sheet,
        sandboxed=True,
        has_header=True,
    ),
    InputFormat(
        title="Shapefile",
        code="shp",
        reader="shapefile_reader.READER",
        suffixes=(".shp",),
        matches=_begins_with(b"\x00\x00\x27\x0a"),
        sandboxed=True,
        has_header=True,
    ),
    InputFormat(
        title="GPX",
        code="gpx",
        reader="xml_reader.GPX_READER",
        suffixes=(".gpx",),
        matches=_is_xml(b"gpx"),
        sandboxed=True,
    ),
    InputFormat(
        title="KML",
        code="kml",
        reader="xml_reader.KML_READER",
        suffixes=(".kml", ".kmz"),
        matches=_is_xml(b"kml"),
        sandboxed=True,
    ),
    InputFormat(
        title="TCX",
        code="tcx",
        reader="xml_reader.TCX_READER",
        suffixes=(".tcx",),
        matches=_is_xml(b"TrainingCenterDatabase"),
        sandboxed=True,
    ),
    InputFormat(
        title="OwnTracks",
        code="owntracks",
        reader="phone_exports.RECORDINGS_READER",
        suffixes=(".rec",),
        matches=_is_recording,
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="Google Timeline",
        code="timeline",
        reader="phone_exports.TIMELINE_READER",
        suffixes=(),
        matches=_is_timeline,
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="Google Location History",
        code="locations",
        reader="phone_exports.LOCATIONS_READER",
        suffixes=(),
        matches=_has_member("locations"),
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="MDS",
        code="mds",
        reader="json_records.TRIPS_READER",
        suffixes=(),
        matches=_is_trips,
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="NDJSON",
        code="ndjson",
        reader="json_records.LINES_READER",
        suffixes=(".jsonl", ".ndjson"),
        matches=_is_json_rows,
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="JSON",
        code="json",
        reader="json_records.LIST_READER",
        suffixes=(),
        matches=_is_list,
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="GeoJSONSeq",
        code="geojsonl",
        reader="geojson_reader.SEQUENCE_READER",
        suffixes=(".geojsonl",),
        names=(".geojsons", ".geojsonseq", ".ndgeojson"),
        matches=_is_json_sequence,
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="GeoJSON",
        code="geojson",
        reader="geojson_reader.DOCUMENT_READER",
        suffixes=(".geojson", ".json"),
        matches=_is_json,
        sandboxed=True,
        like_rows=True,
    ),
    InputFormat(
        title="CSV",
        code="csv",
        reader="csv_reader.READER",
        suffixes=(".csv", ".tsv", ".txt"),
        matches=_is_anything,
        sandboxed=False,
        has_header=True,
    ),
)
"""The upload formats, in the order in which they are tried; CSV, which takes any text, is last."""

SUFFIXES = tuple(suffix for form in FORMATS for suffix in form.suffixes)
"""Usual suffixes of all formats, for file choosers."""

TITLES = ", ".join(form.title for form in reversed(FORMATS))
"""Names of all formats, shown to people; they are the same in every language."""
