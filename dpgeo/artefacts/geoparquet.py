"""GeoParquet 1.1 files in EPSG:4326, zstd-compressed, with bounds in a column "bbox"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dpgeo.artefacts import arrow
from dpgeo.artefacts.formats import LayerFormat, every_layer
from dpgeo.artefacts.table import bounds, extent, parts, summary
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer

ROW_GROUP = 16_384
"""Number of features in a row group, the least that a reader decodes even if it needs fewer."""

_SIDES = ("xmin", "ymin", "xmax", "ymax")


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer in row groups of ROW_GROUP features, with exact coordinates and values."""
    import pyarrow as pa
    import pyarrow.parquet

    schema = _schema(layer)
    figures = [each.name for each in schema if each.name not in ("geometry", "bbox")]
    facts = {"geo": _geo(released, layer), "dpgeo": summary(released, layer)}
    with pyarrow.parquet.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        # Dictionary encoding of positions, and statistics of geometries, take time and help no
        # reader.
        use_dictionary=[name for name in figures if name not in ("row", "column")],
        write_statistics=[*figures, *(f"bbox.{side}" for side in _SIDES)],
        write_page_index=True,
        # With a stored schema, readers would get dictionaries instead of the repeated values.
        store_schema=False,
    ) as writer:
        for part in parts(layer):
            writer.write_table(_table(layer, part, schema), row_group_size=ROW_GROUP)
        writer.add_key_value_metadata(
            {name: json.dumps(about, sort_keys=True) for name, about in facts.items()}
        )
    # The files that are written next need the memory that Arrow would keep for itself.
    pa.default_memory_pool().release_unused()


def _schema(layer: Layer) -> Any:
    """Return the Arrow schema in which the columns are given to the writer.

    A repeated value is a dictionary of one entry, since a million equal values take as long to
    write as different ones. A column without nulls says so once instead of for each value.
    """
    import pyarrow as pa

    repeated = arrow.repeated(layer)
    fields = [
        pa.field(each.name, pa.dictionary(pa.int32(), each.type)) if each.name in repeated else each
        for each in arrow.fields(layer)
    ]
    sides = pa.struct([pa.field(name, pa.float64(), nullable=False) for name in _SIDES])
    return pa.schema([*fields, pa.field("bbox", sides, nullable=False)])


def _geo(released: Released, layer: Layer) -> dict[str, Any]:
    """Return the "geo" metadata that GeoParquet 1.1 requires."""
    import pyproj

    geometry = {
        "encoding": "WKB",
        "geometry_types": arrow.geometry_types(layer),
        "crs": pyproj.CRS.from_epsg(4326).to_json_dict(),
        "orientation": "counterclockwise",
        "edges": "planar",
        "bbox": extent(released, layer),
        "covering": {"bbox": {name: ["bbox", name] for name in _SIDES}},
    }
    return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geometry}}


def _table(layer: Layer, part: slice, schema: Any) -> Any:
    import pyarrow as pa

    box_bounds = bounds(layer, part)
    sides = [pa.array(np.ascontiguousarray(side)) for side in box_bounds.T]
    covering = pa.StructArray.from_arrays(sides, fields=list(schema.field("bbox").type))
    first = pa.array(np.zeros(len(box_bounds), dtype=np.int32))
    arrays = [
        pa.DictionaryArray.from_arrays(first, array[:1])
        if pa.types.is_dictionary(field.type)
        else array
        for field, array in zip(schema, arrow.arrays(layer, part, box_bounds), strict=False)
    ]
    return pa.Table.from_arrays([*arrays, covering], schema=schema)


FORMAT = LayerFormat(
    suffix=".parquet",
    media_type="application/vnd.apache.parquet",
    title="GeoParquet",
    use="columns, for notebooks and QGIS",
    write=write,
    at_once=every_layer,
)
