"""GeoPackage files: one table of features in EPSG:4326, for desktop GIS."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import shapely

from dpgeo.artefacts import arrow, qgis_style
from dpgeo.artefacts.formats import MAX_UNCONFIRMED, LayerFormat
from dpgeo.artefacts.table import parts, summary
from dpgeo.artefacts.view import View, unit_words
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer, ShapeLayer

MAX_FEATURES = 5_000_000
"""Largest number of features in a file; a file of this size takes more than a gigabyte.

GeoParquet has no limit and takes a twentieth of the space.
"""

NO_TIME = "2000-01-01T00:00:00.000Z"
"""Fixed date of the last change, so that the same release always gives the same bytes."""

STYLES = """
CREATE TABLE layer_styles (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, f_table_catalog TEXT(256),
    f_table_schema TEXT(256), f_table_name TEXT(256), f_geometry_column TEXT(256),
    styleName TEXT(30), styleQML TEXT, styleSLD TEXT, useAsDefault BOOLEAN,
    description TEXT, owner TEXT(30), ui TEXT(30), update_time DATETIME
)
"""
"""SQL that creates the table in which QGIS looks for a layer's style."""

GEOMETRY = "geom"
"""Name of the column of geometries. QGIS takes a style only if it names this column."""


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer as a GeoPackage. A feature's id is its row number, counted from 1."""
    import pyarrow as pa
    import pyogrio

    layer = _promoted(layer)
    schema = pa.schema(arrow.fields(layer))
    batches = (pa.record_batch(arrow.arrays(layer, part), schema=schema) for part in parts(layer))
    kinds = arrow.geometry_types(layer)
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": NO_TIME})
    try:
        pyogrio.write_arrow(
            pa.RecordBatchReader.from_batches(schema, batches),
            path,
            driver="GPKG",
            layer=layer.name,
            geometry_name="geometry",
            geometry_type=kinds[0] if len(kinds) == 1 else "Unknown",
            crs="EPSG:4326",
            layer_options={
                "GEOMETRY_NAME": GEOMETRY,
                "IDENTIFIER": layer.title,
                "DESCRIPTION": json.dumps(summary(released, layer), sort_keys=True),
            },
        )
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": None})


def _promoted(layer: Layer) -> Layer:
    """Return a layer in which all shapes have the same geometry type.

    If any shape has several parts, all shapes become multi-part shapes. A GeoPackage states one
    type for a table, and other programs reject features of another type.
    """
    if not isinstance(layer, ShapeLayer) or len(arrow.geometry_types(layer)) < 2:
        return layer
    multiple = {"Polygon": shapely.MultiPolygon, "LineString": shapely.MultiLineString}
    kinds = {kind.removeprefix("Multi") for kind in arrow.geometry_types(layer)}
    if len(kinds) > 1:
        return layer
    shapes = layer.shapes.copy()
    for index, shape in enumerate(shapes.tolist()):
        if shape.geom_type in multiple:
            shapes[index] = multiple[shape.geom_type]([shape])
    return dataclasses.replace(layer, shapes=shapes)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TableStyle:
    """How QGIS draws a table: its style as QML, and what the colours mean."""

    table: str
    qml: str
    description: str


def add_style(released: Released, view: View, path: Path) -> None:
    """Add the map's colours to a file, in the table from which QGIS reads styles."""
    style = TableStyle(
        table=view.layer.name,
        qml=qgis_style.style(released, view),
        description=unit_words(released, view),
    )
    add_styles(path, [style])


def add_styles(path: Path, styles: Sequence[TableStyle]) -> None:
    """Add the styles of a file's tables, which QGIS applies when it opens them."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        # The file is in a temporary work folder and is not needed after a power cut, so it is not
        # synced.
        database.execute("PRAGMA journal_mode = MEMORY")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(STYLES)
        database.executemany(
            "INSERT INTO layer_styles (f_table_catalog, f_table_schema, f_table_name, "
            "f_geometry_column, styleName, styleQML, styleSLD, useAsDefault, description, owner, "
            "update_time) VALUES ('', '', ?, ?, 'map', ?, '', 1, ?, '', ?)",
            [(each.table, GEOMETRY, each.qml, each.description, NO_TIME) for each in styles],
        )
        database.execute(
            "INSERT INTO gpkg_contents (table_name, data_type, identifier, description, "
            "last_change) VALUES ('layer_styles', 'attributes', 'layer_styles', '', ?)",
            (NO_TIME,),
        )
        database.execute("INSERT INTO gpkg_ogr_contents VALUES ('layer_styles', ?)", (len(styles),))


FORMAT = LayerFormat(
    suffix=".gpkg",
    media_type="application/geopackage+sqlite3",
    title="GeoPackage",
    use="one file, for desktop GIS",
    write=write,
    max_features=MAX_FEATURES,
    most_unasked=MAX_UNCONFIRMED,
    style=add_style,
)
