"""GeoPackage files: one table of features in EPSG:4326, for desktop GIS."""

from __future__ import annotations

import json
from pathlib import Path

from dpgeo.artefacts import arrow
from dpgeo.artefacts.formats import LayerFormat
from dpgeo.artefacts.table import summary
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer

MAX_FEATURES = 1_000_000
"""Largest number of features; a file of that many takes a quarter of a gigabyte.

GeoParquet has no limit and takes a twentieth of the space.
"""

NO_TIME = "2000-01-01T00:00:00.000Z"
"""Fixed date of the last change, so that the same release always gives the same bytes."""


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer; a feature's id is its row in files of other formats, counted from 1."""
    import pyarrow as pa
    import pyogrio

    schema = pa.schema(arrow.fields(layer))
    batches = (
        pa.record_batch(arrow.arrays(layer, part), schema=schema) for part in arrow.parts(layer)
    )
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
                "IDENTIFIER": layer.title,
                "DESCRIPTION": json.dumps(summary(released, layer), sort_keys=True),
            },
        )
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": None})


FORMAT = LayerFormat(
    suffix=".gpkg",
    media_type="application/geopackage+sqlite3",
    title="GeoPackage",
    use="one file, for desktop GIS",
    write=write,
    max_features=MAX_FEATURES,
)
