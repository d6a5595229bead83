"""Layers as Arrow tables, from which the binary formats are written.

The well-known binary (WKB) of boxes and points is built directly from arrays: a box has 93 bytes,
of which only ten numbers vary. For a million cells, this takes a fraction of the time that building
the geometries one by one would take.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.table import CHUNK, bounds, columns, is_text
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer

# A polygon in little-endian well-known binary: byte order, type 3, one ring of five points.
_BOX = np.dtype(
    [("order", "u1"), ("type", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("ring", "<f8", (5, 2))]
)
_CORNERS = [0, 1, 2, 1, 2, 3, 0, 3, 0, 1]
"""Indices of each corner's x and y in (west, south, east, north), counterclockwise."""

NONE = slice(0, 0)
"""An empty slice of a layer's features; its columns still have their names and types."""

_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("point", "<f8", (2,))])


def fields(layer: Layer) -> list[Any]:
    """Return the Arrow fields of a layer: its columns, margin label and geometry."""
    import pyarrow as pa

    schema_fields = [pa.field(name, _kind(values)) for name, values in columns(layer, NONE).items()]
    if layer.margin is not None:
        schema_fields.append(pa.field("margin_label", pa.string()))
    return [*schema_fields, pa.field("geometry", pa.binary(), nullable=False)]


def arrays(layer: Layer, part: slice, box_bounds: NDArray[np.float64] | None = None) -> list[Any]:
    """Return a slice's features as Arrow arrays, in the order of `fields`.

    `box_bounds` (n, 4) are the bounds of the features (`table.bounds`), computed here if None.
    """
    import pyarrow as pa

    box_bounds = bounds(layer, part) if box_bounds is None else box_bounds
    field_arrays = [
        # A withheld value is NaN in a layer and null in files.
        pa.array(np.ascontiguousarray(values), type=_kind(values), from_pandas=True)
        for values in columns(layer, part).values()
    ]
    if layer.margin is not None:
        field_arrays.append(pa.repeat(layer.margin_label, len(box_bounds)))
    return [*field_arrays, _geometries(layer, part, box_bounds)]


def parts(layer: Layer) -> Iterator[slice]:
    """Yield slices of at most CHUNK features that together cover a layer."""
    for start in range(0, len(layer), CHUNK):
        yield slice(start, min(start + CHUNK, len(layer)))


def geometry_types(layer: Layer) -> list[str]:
    """Return the OGC names of a layer's geometry types."""
    if isinstance(layer, BoxLayer):
        return ["Polygon"]
    if isinstance(layer, PointLayer):
        return ["Point"]
    if isinstance(layer, ShapeLayer):
        return sorted({shape.geom_type for shape in layer.shapes.tolist()})
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def shape_of(layer: Layer) -> Literal["point", "line", "polygon"]:
    """Return the kind of geometry in a layer.

    The result is "polygon" for a layer with several kinds of geometry or without features.
    """
    kinds = geometry_types(layer)
    if kinds == ["Point"]:
        return "point"
    return "line" if kinds and all("LineString" in kind for kind in kinds) else "polygon"


def _kind(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.string() if is_text(values) else pa.from_numpy_dtype(values.dtype)


def _geometries(layer: Layer, part: slice, box_bounds: NDArray[np.float64]) -> Any:
    """Return the geometries in a slice as an Arrow array of little-endian WKB."""
    import pyarrow as pa

    if isinstance(layer, BoxLayer):
        boxes = np.empty(len(box_bounds), dtype=_BOX)
        boxes["order"], boxes["type"], boxes["rings"], boxes["points"] = 1, 3, 1, 5
        boxes["ring"] = np.take(box_bounds, _CORNERS, axis=1).reshape(-1, 5, 2)
        return _binary(boxes)
    if isinstance(layer, PointLayer):
        points = np.empty(len(box_bounds), dtype=_POINT)
        points["order"], points["type"], points["point"] = 1, 1, box_bounds[:, :2]
        return _binary(points)
    if isinstance(layer, ShapeLayer):
        return pa.array(shapely.to_wkb(layer.shapes[part], byte_order=1).tolist(), pa.binary())
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def _binary(records: NDArray[Any]) -> Any:
    """Return an array of fixed-size WKB records as an Arrow array of binary values."""
    import pyarrow as pa

    offsets = np.arange(len(records) + 1, dtype=np.int32) * records.dtype.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(records.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(records), buffers)
