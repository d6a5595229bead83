"""Layers as Arrow tables, from which the binary formats are written.

The well-known binary (WKB) of boxes and points is built directly from arrays: a box has 93 bytes,
of which only ten numbers vary. For a million cells, this takes a fraction of the time that building
the geometries one by one would take.
"""

from __future__ import annotations

import struct
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.table import bounds, columns, is_text
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer

# Well-known binary begins with its byte order (1: little-endian) and its type. A polygon goes on
# with the numbers of its rings and of the first ring's points.
_POINT = struct.pack("<BI", 1, 1)
_BOX = struct.pack("<BIII", 1, 3, 1, 5)

_CORNERS = [0, 1, 2, 1, 2, 3, 0, 3, 0, 1]
"""Indices of each corner's x and y in (west, south, east, north), counterclockwise."""

LABEL = "margin_label"
"""Name of the column that says how margins were obtained."""

NONE = slice(0, 0)
"""Python slice of none of a layer's features; columns still have their names and types."""


def fields(layer: Layer) -> list[Any]:
    """Return the Arrow fields of a layer: its columns, LABEL if it has margins, and geometry."""
    import pyarrow as pa

    schema_fields = [pa.field(name, _kind(values)) for name, values in columns(layer, NONE).items()]
    if layer.margin is not None:
        schema_fields.append(pa.field(LABEL, pa.string()))
    return [*schema_fields, pa.field("geometry", pa.binary(), nullable=False)]


def arrays(layer: Layer, part: slice, box_bounds: NDArray[np.float64] | None = None) -> list[Any]:
    """Return the features in `part` of a layer as Arrow arrays, in the order of `fields`.

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


def repeated(layer: Layer) -> frozenset[str]:
    """Return the names of the columns that store a single value for all features."""
    # One value for all features is an array broadcast with a stride of 0. At least two features are
    # needed, because any array of fewer numbers may have a stride of 0.
    two = {name: values for name, values in columns(layer, slice(2)).items() if len(values) > 1}
    alike = {name for name, values in two.items() if values.strides == (0,)}
    return frozenset(alike | ({LABEL} if layer.margin is not None else set()))


def geometry_types(layer: Layer) -> list[str]:
    """Return the OGC names of a layer's geometry types."""
    if isinstance(layer, BoxLayer):
        return ["Polygon"]
    if isinstance(layer, PointLayer):
        return ["Point"]
    if isinstance(layer, ShapeLayer):
        return sorted({shape.geom_type for shape in layer.shapes.tolist()})
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def layer_shape(layer: Layer) -> Literal["point", "line", "polygon"]:
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
    """Return the geometries in `part` of a layer as an Arrow array of little-endian WKB."""
    import pyarrow as pa

    if isinstance(layer, BoxLayer):
        return _binary(_BOX, np.take(box_bounds, _CORNERS, axis=1))
    if isinstance(layer, PointLayer):
        return _binary(_POINT, np.ascontiguousarray(box_bounds[:, :2]))
    if isinstance(layer, ShapeLayer):
        return pa.array(shapely.to_wkb(layer.shapes[part], byte_order=1).tolist(), pa.binary())
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def _binary(head: bytes, coordinates: NDArray[np.float64]) -> Any:
    """Return n geometries as WKB that differ only in their coordinates (n, m).

    `head` holds the bytes of each geometry before its coordinates.
    """
    import pyarrow as pa

    numbers = coordinates.astype("<f8", copy=False).view(np.uint8)
    records = np.empty((len(numbers), len(head) + numbers.shape[1]), dtype=np.uint8)
    records[:, : len(head)] = np.frombuffer(head, dtype=np.uint8)
    records[:, len(head) :] = numbers
    offsets = np.arange(len(records) + 1, dtype=np.int32) * records.shape[1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(records)]
    return pa.Array.from_buffers(pa.binary(), len(records), buffers)
