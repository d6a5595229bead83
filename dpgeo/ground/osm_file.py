"""OpenStreetMap extracts (.osm.pbf), read with GDAL.

An extract is the operator's own file, given at the console; uploaded files are never read this way.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

SETTINGS = Path(__file__).with_name("osm.ini")


def read_layer(path: Path, layer: str, where: str) -> Any:
    """Return the features of a GDAL layer that meet the SQL condition `where`, in degrees."""
    import pyogrio

    pyogrio.set_gdal_config_options({"OSM_CONFIG_FILE": str(SETTINGS)})
    return pyogrio.read_dataframe(path, layer=layer, where=where)


def extract_date(path: Path) -> str:
    """Return the day of an extract's data (ISO 8601) from its header, or "" if it is not stated."""
    try:
        with path.open("rb") as file:
            head = _fields(file.read(int.from_bytes(file.read(4))))
            blob = _fields(file.read(int(head[DATA_SIZE])))
        packed = blob.get(PACKED)
        header = _fields(zlib.decompress(packed) if isinstance(packed, bytes) else b"")
        moment = int(header.get(TIMESTAMP, 0))
    except (KeyError, IndexError, ValueError, TypeError, OverflowError, zlib.error):
        return ""
    return datetime.fromtimestamp(moment, UTC).date().isoformat() if moment else ""


DATA_SIZE, PACKED, TIMESTAMP = 3, 3, 32
"""Protocol Buffers field numbers: a blob's size in its header, its packed bytes, the
data's time.
"""


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Return the last value of each field of a Protocol Buffers message."""
    fields: dict[int, int | bytes] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        number, kind = key >> 3, key & 7
        if kind == 0:
            fields[number] = varint()
        elif kind == 2:
            size = varint()
            fields[number] = message[at : at + size]
            at += size
        else:
            raise ValueError(kind)
    return fields


def sea(coast: NDArray[np.object_], frame: shapely.Geometry) -> shapely.Geometry:
    """Return the sea in a frame, from coastlines that have the land on their left.

    A coastline that ends inside the frame counts for nothing, since it does not separate land from
    sea. The result is empty if there is no other coastline.
    """
    lines = shapely.line_merge(shapely.union_all(shapely.intersection(coast, frame)), directed=True)
    edges = shapely.union_all([shapely.boundary(frame), lines])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(shapely.node(edges))))
    rings = [shapely.get_coordinates(each) for each in shapely.get_parts(lines)]
    if not rings:
        return shapely.MultiPolygon()
    start = np.concatenate([ring[:-1] for ring in rings])
    end = np.concatenate([ring[1:] for ring in rings])
    middle, way = (start + end) / 2, end - start
    length = np.hypot(way[:, 0], way[:, 1])
    long = length > 1e-6
    right = np.column_stack([way[:, 1], -way[:, 0]])[long] / length[long, None] * 1e-6
    tree = shapely.STRtree(faces)

    def hits(side: int) -> NDArray[np.int64]:
        points = shapely.points(middle[long] + side * right)
        return np.bincount(tree.query(points, predicate="within")[1], minlength=len(faces))

    return shapely.union_all(faces[hits(1) > hits(-1)])
