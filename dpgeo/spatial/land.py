"""The world's land as polygons, from the file that the frontend's build writes (Natural Earth)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.antimeridian import cut_at_180


@lru_cache(maxsize=1)
def land_polygons(path: Path) -> NDArray[np.object_]:
    """Read the world's land as polygons; none where the frontend is not built."""
    if not path.exists():
        return np.empty(0, dtype=object)
    polygons = shapely.get_parts(shapely.from_geojson(path.read_text()))
    return np.array([part for each in polygons for part in cut_at_180(each)], dtype=object)
