"""A look at the head of an upload, for its owner, before the schema is declared."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dpgeo.ingest.batch import as_python
from dpgeo.ingest.report import MAX_LINE_BYTES, shorten
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.sniff import Format, sniff
from dpgeo.ingest.suggest import hints, suggest
from dpgeo.spatial.area import StudyArea

ROWS_SHOWN = 20
ROWS_LOOKED_AT = 200
HEAD_BYTES = 1 << 18
COLUMNS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Preview:
    """Column names, the first rows as text (cut short), suggested columns ("" where none), and
    sentences about what looks wrong. Private: it shows rows.
    """

    columns: list[str]
    rows: list[list[str]]
    suggested: Columns
    hints: list[str]

    def to_json(self) -> dict[str, Any]:
        """The preview as plain JSON."""
        return asdict(self)


def preview(path: Path, file_name: str, area: StudyArea | None = None) -> Preview:
    """Look at the head of a file alone, whatever its size. `area` makes for better hints.

    Raises InvalidInput (field "file") when it cannot be read as a table at all.
    """
    match sniff(path, file_name):
        case Format.CSV:
            names, rows = _csv_head(path)
            geometry, crs = "", ""
        case Format.PARQUET:
            names, rows, geometry, crs = _parquet_head(path)
    suggested = suggest(names, geometry, crs)
    return Preview(names, rows[:ROWS_SHOWN], suggested, hints(names, rows, suggested, area))


def _csv_head(path: Path) -> tuple[list[str], list[list[str]]]:
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
    return header.names, rows


def _parquet_head(path: Path) -> tuple[list[str], list[list[str]], str, str]:
    """Names, first rows and, if the file names one, its geometry column and coordinate system.

    Columns are read a few at a time, so that a file of thousands needs no buffer for each.
    """
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
    return names, rows, geometry, crs


def _shown(value: Any) -> str:
    """A Parquet value as text; well-known binary as the geometry it stands for."""
    plain = as_python(value)
    if isinstance(plain, bytes):
        import shapely

        shape = shapely.from_wkb(plain, on_invalid="ignore")
        plain = plain if shape is None else shape.wkt
    return shorten(plain)
