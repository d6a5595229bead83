"""GeoParquet 1.1: features in EPSG:4326 with a bbox covering column, zstd.

Boxes and points are written straight from arrays: a box is 93 bytes of well-known binary that
differ only in ten numbers, so a million cells take a fraction of what building geometries one by
one does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts.formats import LayerFormat
from dpgeo.artefacts.table import CHUNK, bounds, columns, extent, is_text, summary
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer

# A polygon in little-endian well-known binary: byte order, type 3, one ring of five points.
_BOX = np.dtype(
    [("order", "u1"), ("type", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("ring", "<f8", (5, 2))]
)
_CORNERS = [[0, 1], [2, 1], [2, 3], [0, 3], [0, 1]]
"""Which of west, south, east, north makes up each point: counterclockwise."""

_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("point", "<f8", (2,))])

_SIDES = ("xmin", "ymin", "xmax", "ymax")


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer in row groups of CHUNK features; coordinates and values are exact."""
    import pyarrow.parquet

    schema = _schema(released, layer)
    with pyarrow.parquet.ParquetWriter(
        path, schema, compression="zstd", compression_level=3, write_page_index=True
    ) as writer:
        for start in range(0, len(layer), CHUNK):
            writer.write_table(_table(layer, slice(start, start + CHUNK), schema))


def _schema(released: Released, layer: Layer) -> Any:
    import pyarrow as pa

    side = pa.float64()
    fields = [pa.field(name, _kind(values)) for name, values in columns(layer).items()]
    if layer.margin is not None:
        fields.append(pa.field("margin_label", pa.string()))
    fields += [
        pa.field("geometry", pa.binary(), nullable=False),
        pa.field("bbox", pa.struct([pa.field(name, side) for name in _SIDES])),
    ]
    metadata = {
        "geo": json.dumps(_geo(released, layer), sort_keys=True),
        "dpgeo": json.dumps(summary(released, layer), sort_keys=True),
    }
    return pa.schema(fields, metadata=metadata)


def _kind(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.string() if is_text(values) else pa.from_numpy_dtype(values.dtype)


def _geo(released: Released, layer: Layer) -> dict[str, Any]:
    """The "geo" metadata of GeoParquet 1.1."""
    import pyproj

    geometry = {
        "encoding": "WKB",
        "geometry_types": _geometry_types(layer),
        "crs": pyproj.CRS.from_epsg(4326).to_json_dict(),
        "orientation": "counterclockwise",
        "edges": "planar",
        "bbox": extent(released, layer),
        "covering": {"bbox": {name: ["bbox", name] for name in _SIDES}},
    }
    return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geometry}}


def _geometry_types(layer: Layer) -> list[str]:
    if isinstance(layer, BoxLayer):
        return ["Polygon"]
    if isinstance(layer, PointLayer):
        return ["Point"]
    if isinstance(layer, ShapeLayer):
        return sorted({shape.geom_type for shape in layer.shapes.tolist()})
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def _table(layer: Layer, part: slice, schema: Any) -> Any:
    import pyarrow as pa

    around = bounds(layer, part)
    arrays = [
        pa.array(np.ascontiguousarray(values[part]), type=_kind(values))
        for values in columns(layer).values()
    ]
    if layer.margin is not None:
        arrays.append(pa.repeat(layer.margin_label, len(around)))
    covering = [pa.array(np.ascontiguousarray(side)) for side in around.T]
    arrays += [
        _geometries(layer, part, around),
        pa.StructArray.from_arrays(covering, names=list(_SIDES)),
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _geometries(layer: Layer, part: slice, around: NDArray[np.float64]) -> Any:
    """Some features as a binary Arrow array of little-endian well-known binary."""
    import pyarrow as pa

    if isinstance(layer, BoxLayer):
        boxes = np.empty(len(around), dtype=_BOX)
        boxes["order"], boxes["type"], boxes["rings"], boxes["points"] = 1, 3, 1, 5
        boxes["ring"] = around[:, _CORNERS]
        return _binary(boxes)
    if isinstance(layer, PointLayer):
        points = np.empty(len(around), dtype=_POINT)
        points["order"], points["type"], points["point"] = 1, 1, around[:, :2]
        return _binary(points)
    if isinstance(layer, ShapeLayer):
        import shapely

        return pa.array(shapely.to_wkb(layer.shapes[part], byte_order=1).tolist(), pa.binary())
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def _binary(records: NDArray[Any]) -> Any:
    """Records of one size (n,) as a binary Arrow array."""
    import pyarrow as pa

    offsets = np.arange(len(records) + 1, dtype=np.int32) * records.dtype.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(records.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(records), buffers)


FORMAT = LayerFormat(
    suffix=".parquet",
    media_type="application/vnd.apache.parquet",
    write=write,
)
