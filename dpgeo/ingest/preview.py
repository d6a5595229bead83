"""A look at the head of an upload, for its owner, before the schema is declared."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, Self

from dpgeo.ingest.batch import as_python
from dpgeo.ingest.column_guess import hints, suggest
from dpgeo.ingest.decompress import is_packed
from dpgeo.ingest.header import MAX_COLUMNS
from dpgeo.ingest.report import MAX_LINE_BYTES, shorten
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.sniff import Format, is_text, sniff
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea

ROWS_SHOWN = 20
ROWS_LOOKED_AT = 200
HEAD_BYTES = 1 << 18
COLUMNS_AT_ONCE = 50
LONGEST_WAIT = 300
"""Seconds until the machine is too busy; the processor's are bounded by `worker`."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Column names, the first rows as text (cut short), suggested columns ("" where none), and
    sentences about what looks wrong. Private: it shows rows.
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
        """The preview as plain JSON."""
        return asdict(self) | {"hints": [hint.to_json() for hint in self.hints]}


@dataclass(frozen=True, slots=True)
class Head:
    """The first rows of a file, and what it says of its geometry ("" where nothing)."""

    names: list[str]
    rows: list[list[str]]
    geometry: str = ""
    crs: str = ""


def preview(
    path: Path, file_name: str, area: StudyArea | None = None, folder: Path | None = None
) -> Preview:
    """Look at the head of an upload. `area` makes for better hints; what is unpacked lies in
    `folder`, else in the system's temporary one, meanwhile.

    Of what is neither compressed nor binary only the head is read, whatever its size. Raises
    InvalidInput (field "file") when it cannot be read as a table at all, and Conflict where the
    machine is too busy to tell.
    """
    if not is_packed(path) and is_text(sniff(path, file_name)):
        return preview_here(path, file_name, area)
    from dpgeo.ingest import sandbox

    request = {
        "source": str(path.absolute()),
        "file_name": file_name,
        "area": area and area.to_geojson(),
    }
    with tempfile.TemporaryDirectory(prefix="dpgeo-preview-", dir=folder) as unpacked:
        document = sandbox.run(
            "preview",
            request,
            Path(unpacked),
            lambda done, total: None,
            silence=inf,
            limit=LONGEST_WAIT,
        )
    return Preview.from_json(document)


def preview_here(path: Path, file_name: str, area: StudyArea | None = None) -> Preview:
    """The preview of an unpacked file, made in this process. Raises InvalidInput (field "file")."""
    form = sniff(path, file_name)
    match form:
        case Format.CSV:
            head = _csv_head(path)
        case Format.PARQUET:
            head = _parquet_head(path)
        case Format.GEOPACKAGE:
            head = _geopackage_head(path)
        case Format.GEOJSON | Format.GEOJSON_SEQUENCE:
            head = _geojson_head(path, form)
    suggested = suggest(head.names, head.geometry, head.crs)
    said = hints(head.names, head.rows, suggested, area)
    complete = form not in {Format.GEOJSON, Format.GEOJSON_SEQUENCE}
    return Preview(head.names, head.rows[:ROWS_SHOWN], suggested, said, complete)


def _csv_head(path: Path) -> Head:
    from dpgeo.ingest.csv_lines import read_lines
    from dpgeo.ingest.csv_reader import read_header

    with path.open("rb") as file:
        header = read_header(file)
        head = io.BytesIO(file.read(HEAD_BYTES))
    lines = next(read_lines(head, HEAD_BYTES), None)
    rows = []
    if lines is not None:
        for start, end in zip(
            lines.starts[:ROWS_LOOKED_AT], lines.ends[:ROWS_LOOKED_AT], strict=True
        ):
            text = lines.block[start : min(end, start + MAX_LINE_BYTES)].decode(errors="replace")
            cells = next(csv.reader([text], delimiter=header.delimiter))
            cells = [shorten(cell.strip()) for cell in cells[: len(header.names)]]
            rows.append(cells + [""] * (len(header.names) - len(cells)))
    return Head(header.names, rows)


def _geopackage_head(path: Path) -> Head:
    from dpgeo.ingest import geopackage_reader

    with geopackage_reader.opened(path) as connection, geopackage_reader.readable():
        layer = geopackage_reader.find_layer(connection)
        found = geopackage_reader.read_rows(connection, layer, layer.names)
        rows = []
        for row in islice(found, ROWS_LOOKED_AT):
            cells = row or [""] * len(layer.names)
            rows.append([_shown_geometry(cell) for cell in cells])
    return Head(layer.names, rows, layer.geometry, layer.crs)


def _shown_geometry(value: object) -> str:
    """A GeoPackage's value as text."""
    from dpgeo.ingest.geopackage_reader import well_known_binary
    from dpgeo.ingest.typed_values import Unusable

    if not isinstance(value, bytes) or not value.startswith(b"GP"):
        return shorten(value)
    try:
        return _shown(well_known_binary(value))
    except Unusable:
        return shorten(value)


def _geojson_head(path: Path, form: Format) -> Head:
    """The first features; the names are all that occur among them, in order."""
    from dpgeo.ingest import geojson_reader

    with path.open("rb") as file:
        crs, found = geojson_reader.head(file, ROWS_LOOKED_AT, document=form is Format.GEOJSON)
    names = list(dict.fromkeys(name for one in found for name in one.properties))
    names = [name for name in names if name != geojson_reader.GEOMETRY][: MAX_COLUMNS - 1]
    rows = [
        [*(_plain_json(one.properties.get(name)) for name in names), _plain_json(one.geometry)]
        for one in found
    ]
    return Head([*names, geojson_reader.GEOMETRY], rows, geojson_reader.GEOMETRY, crs)


def _plain_json(value: object) -> str:
    return shorten(json.dumps(value) if isinstance(value, dict | list) else value)


def _parquet_head(path: Path) -> Head:
    """Columns are read a few at a time, so that a file of thousands needs no buffer for each."""
    from dpgeo.ingest.parquet_reader import open_parquet, primary_geometry, readable

    cells: list[list[str]] = []
    with open_parquet(path) as file, readable():
        names: list[str] = file.schema_arrow.names
        for start in range(0, len(names), COLUMNS_AT_ONCE):
            some = names[start : start + COLUMNS_AT_ONCE]
            batches = file.iter_batches(batch_size=ROWS_LOOKED_AT, columns=some)
            for batch in islice(batches, 1):
                cells += [[_shown(value) for value in batch.column(name)] for name in some]
        geometry, crs = primary_geometry(file.schema_arrow)
    rows = [list(row) for row in zip(*cells, strict=True)]
    return Head(names, rows, geometry, crs)


def _shown(value: Any) -> str:
    """A Parquet value as text; well-known binary as the geometry it stands for."""
    plain = as_python(value)
    if isinstance(plain, bytes):
        import shapely

        shape = shapely.from_wkb(plain, on_invalid="ignore")
        plain = plain if shape is None else shape.wkt
    return shorten(plain)
