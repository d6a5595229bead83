"""Zipped shapefiles of points, read by pyshp.

A shapefile is several files with one base name, which `decompress` unpacks side by side. Record n
of the geometry and record n of the table form one row. Records of points have a fixed length. If
one of them misstates its length, the file has more or fewer geometries than rows, and is refused as
a whole.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import shapefile

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.crs import WGS84
from dpgeo.ingest.header import check_names
from dpgeo.ingest.layout import Layout
from dpgeo.ingest.records import GEOMETRY, Record, Table, record_reader
from dpgeo.ingest.report import Reason

POINT_TYPES = {1, 11, 21}
MULTIPOINT_TYPES = {8, 18, 28}
"""Types of shapes with any number of points; programs write such layers even of single points."""
NULL = 0
MAX_STATED = 1 << 16


@contextmanager
def open_shapefile(path: Path, layout: Layout | None) -> Iterator[Table]:
    """Open a shapefile, given its main file. Raises InvalidInput."""
    table = path.with_suffix(".dbf")
    if not table.exists():
        raise InvalidInput(
            "A shapefile needs its table too: zip the files .shp, .shx, .dbf and .prj together.",
            field="file",
        )
    options = {"encoding": _encoding(path), "encodingErrors": "replace"}
    with path.open("rb") as shapes, table.open("rb") as rows:
        with _undamaged():
            reader = shapefile.Reader(shp=shapes, dbf=rows, **options)
            names = [field[0] for field in reader.fields if field[0] != "DeletionFlag"]
        if reader.shapeType not in POINT_TYPES | MULTIPOINT_TYPES:
            raise InvalidInput(
                "The shapefile holds no points; export a layer of points.", field="file"
            )
        check_names([*names, GEOMETRY])
        done = [0]
        records = _records(reader, names, done)
        total = reader.numRecords
        yield Table([*names, GEOMETRY], records, lambda: done[0], total, GEOMETRY, _crs(path))


@contextmanager
def _undamaged() -> Iterator[None]:
    """Convert pyshp's errors for damaged files to InvalidInput."""
    damaged = (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, EOFError)
    try:
        yield
    except (shapefile.ShapefileException, struct.error, *damaged) as error:
        raise InvalidInput(
            "The shapefile is damaged or cut short; export and zip it again.", field="file"
        ) from error


def _records(reader: Any, names: list[str], done: list[int]) -> Iterator[Record]:
    with _undamaged():
        pairs = zip(reader.iterRecords(), reader.iterShapes(), strict=True)
    while True:
        with _undamaged():
            pair = next(pairs, None)
        if pair is None:
            return
        row, shape = pair
        done[0] += 1
        if shape.shapeType == NULL:
            yield Reason.GEOMETRY_MISSING
        elif shape.shapeType not in POINT_TYPES | MULTIPOINT_TYPES or len(shape.points) != 1:
            yield Reason.GEOMETRY_NOT_POINT
        else:
            x, y = shape.points[0][:2]
            yield {**dict(zip(names, row, strict=False)), GEOMETRY: (x, y)}


def _encoding(path: Path) -> str:
    """Return Windows-1252 if the accompanying .cpg file states it or ISO 8859, else UTF-8."""
    stated = path.with_suffix(".cpg")
    text = stated.read_bytes()[:40].decode("ascii", "replace").upper() if stated.exists() else ""
    return "cp1252" if "1252" in text or "8859" in text else "utf-8"


def _crs(path: Path) -> str:
    """Return the code or name of the coordinate system stated by the accompanying .prj file."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    stated = path.with_suffix(".prj")
    if not stated.exists():
        return ""
    text = stated.read_bytes()[:MAX_STATED].decode("utf-8", "replace").strip()
    if not text.upper().startswith(("GEOGCS", "PROJCS", "GEOGCRS", "PROJCRS")):
        return ""
    try:
        system = CRS.from_wkt(text)
    except CRSError:
        return "an unknown system"
    if system.is_geographic and "1984" in system.name:
        return WGS84
    code = system.to_authority(min_confidence=60)
    return ":".join(code) if code else system.name


READER = record_reader(open_shapefile)
