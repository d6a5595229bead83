"""Test uploads in formats other than CSV and Parquet, and functions that read them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import shapely

from dpgeo.ingest.geojson_reader import read_document, read_sequence
from dpgeo.ingest.geopackage_reader import read_geopackage
from dpgeo.ingest.report import Report, Tally
from dpgeo.ingest.schema import Columns, Schema
from tests.unit.ingest.helpers import collected, schema

BY_GEOMETRY = schema(Columns(geometry="geometry", person="who"))
BY_GEOM = schema(Columns(geometry="geom", person="who"))


def feature(who: object, *coordinates: object, **properties: object) -> dict[str, Any]:
    """Return a GeoJSON feature."""
    geometry = {"type": "Point", "coordinates": list(coordinates)}
    return {"type": "Feature", "properties": {"who": who, **properties}, "geometry": geometry}


def document(records: Iterable[str | dict[str, Any]], **members: object) -> str:
    """Return a GeoJSON FeatureCollection; records given as text are inserted unchanged."""
    texts = [text if isinstance(text, str) else json.dumps(text) for text in records]
    head = {"type": "FeatureCollection", **members}
    return json.dumps(head)[:-1] + ', "features": [\n' + ",\n".join(texts) + "\n]}\n"


def read_features(
    path: Path, declared: Schema = BY_GEOMETRY, *, lines: bool = False, block_bytes: int = 1 << 21
) -> tuple[Any, Report]:
    """Return canonical rows and report of a GeoJSON file, read in blocks of a given size."""
    tally = Tally()
    read = read_sequence if lines else read_document
    crs = declared.columns.crs
    batches = read(path, declared.wanted, tally, crs=crs, block_bytes=block_bytes)
    return collected(batches, declared, tally)


def read_layer(
    path: Path, declared: Schema = BY_GEOM, batch_rows: int = 20_000
) -> tuple[Any, Report]:
    """Return the canonical rows and the report of a GeoPackage, read in batches of a given size."""
    tally = Tally()
    crs = declared.columns.crs
    batches = read_geopackage(path, declared.wanted, tally, crs=crs, batch_rows=batch_rows)
    return collected(batches, declared, tally)


def gpkg_point(x: float, y: float, flags: int = 1, envelope: bytes = b"") -> bytes:
    """Return a point in the binary encoding of GeoPackages."""
    body: bytes = shapely.Point(x, y).wkb
    return b"GP\x00" + bytes([flags]) + (4326).to_bytes(4, "little") + envelope + body


CATALOGUE = """
CREATE TABLE gpkg_spatial_ref_sys (srs_id INTEGER, organization TEXT,
  organization_coordsys_id INTEGER);
INSERT INTO gpkg_spatial_ref_sys VALUES (4326, 'EPSG', 4326), (2056, 'EPSG', 2056),
  (9, 'NONE', 9);
CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT,
  srs_id INTEGER);
"""
POINTS = """
INSERT INTO gpkg_geometry_columns VALUES ('points', 'geom', 'POINT', 4326);
CREATE TABLE points (fid INTEGER PRIMARY KEY, geom BLOB, who, t);
"""


def geopackage(
    path: Path, rows: Sequence[tuple[object, ...]] = (), script: str = CATALOGUE + POINTS
) -> Path:
    """Write a GeoPackage whose table `points` has the rows (geom, who, t)."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY;" + script)
    for row in rows:
        connection.execute("INSERT INTO points (geom, who, t) VALUES (?, ?, ?)", row)
    connection.commit()
    connection.close()
    return path
