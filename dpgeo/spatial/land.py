"""The world's land as polygons (Natural Earth), from a file that the frontend build writes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.antimeridian import cut_at_180


@lru_cache(maxsize=1)
def land_polygons(path: Path) -> NDArray[np.object_]:
    """Return the world's land as polygons, or no polygons if the frontend has not been built."""
    if not path.exists():
        return np.empty(0, dtype=object)
    polygons = shapely.get_parts(shapely.from_wkb(path.read_bytes()))
    # Few polygons cross the 180th meridian. Find them in one array operation, because calling
    # `cut_at_180` for every polygon takes long.
    vertices, owner = shapely.get_coordinates(polygons, return_index=True)
    jumps = (np.abs(np.diff(vertices[:, 0])) > 180) & (np.diff(owner) == 0)
    crossing = set(owner[1:][jumps].tolist())
    parts = [
        part
        for number, each in enumerate(polygons)
        for part in (cut_at_180(each) if number in crossing else [each])
    ]
    return np.array(parts, dtype=object)
