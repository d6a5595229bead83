"""OpenStreetMap extracts (.osm.pbf), read with GDAL.

An extract is the operator's own file, given at the console; uploaded files are never read this way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

SETTINGS = Path(__file__).with_name("osm.ini")


def read_layer(path: Path, layer: str, where: str) -> Any:
    """Return the features of a GDAL layer as a GeoDataFrame in degrees."""
    import pyogrio

    pyogrio.set_gdal_config_options({"OSM_CONFIG_FILE": str(SETTINGS)})
    return pyogrio.read_dataframe(path, layer=layer, where=where)


def sea(coast: NDArray[np.object_], frame: shapely.Geometry) -> shapely.Geometry:
    """Return the sea in a frame, from coastlines that have the land on their left.

    Empty where a coastline ends inside the frame, so that no side of it is closed.
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
