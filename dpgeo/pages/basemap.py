"""The basemap: Natural Earth's land around a study area.

The land comes with the built frontend (`frontend/scripts/prepare-land.mjs`); without it maps have
no coast, and nothing else changes.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from django.conf import settings
from numpy.typing import NDArray

from dpgeo.spatial.antimeridian import cut_at_180
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import MAX_LATITUDE, to_degrees

SURROUNDINGS = 1.5
"""Reach of the map beyond the study area on each side, in lengths of its longer side."""

DETAIL = 3000
"""Bends and islands are left out below the area's longer side divided by this number."""

PLAIN_DETAIL = 1000
"""The same divisor for a map that only needs rough orientation."""

SOURCE_DETAIL = 2e-4
"""Size in degrees below which the source has no bends, so that simplifying changes nothing."""


def basemap(area: StudyArea) -> dict[str, Any]:
    """Return land, land inside the area, and coast, as GeoJSON in degrees.

    "bounds" are the west, south, east and north of the map. Nothing here depends on private
    data.
    """
    bounds = surroundings(area)
    land = _near_land(land_polygons(land_file()), bounds, area)
    clipped = shapely.clip_by_rect(land, *bounds)
    inside = shapely.intersection(shapely.make_valid(clipped), area.shape)
    return {
        "bounds": list(bounds),
        "land": _to_geojson(shapely.MultiPolygon(_parts(clipped, "Polygon"))),
        "inside": _to_geojson(shapely.MultiPolygon(_parts(inside, "Polygon"))),
        "coast": _to_geojson(_coast(land, bounds)),
    }


def plain_land(area: StudyArea) -> dict[str, Any]:
    """Return coarse land, with the keys "bounds" and "land" of `basemap`."""
    bounds = surroundings(area)
    land = _near_land(land_polygons(land_file()), bounds, area, detail=PLAIN_DETAIL)
    clipped = shapely.clip_by_rect(land, *bounds)
    return {
        "bounds": list(bounds),
        "land": _to_geojson(shapely.MultiPolygon(_parts(clipped, "Polygon"))),
    }


def surroundings(area: StudyArea) -> tuple[float, float, float, float]:
    """Return west, south, east, north in degrees of all that the area's map may show."""
    west, south, east, north = area.mercator_bounds
    reach = SURROUNDINGS * max(east - west, north - south)
    lon, lat = to_degrees([west - reach, east + reach], [south - reach, north + reach])
    return (
        max(-180.0, float(lon[0])),
        max(-MAX_LATITUDE, float(lat[0])),
        min(180.0, float(lon[1])),
        min(MAX_LATITUDE, float(lat[1])),
    )


def land_file() -> Path:
    """Return where the frontend's build stores the land."""
    return Path(settings.BASE_DIR) / "frontend" / "dist" / "land.json"


@lru_cache(maxsize=1)
def land_polygons(path: Path) -> NDArray[np.object_]:
    """Read the world's land as polygons; none where the frontend is not built."""
    if not path.exists():
        return np.empty(0, dtype=object)
    polygons = shapely.get_parts(shapely.from_geojson(path.read_text()))
    return np.array([part for each in polygons for part in cut_at_180(each)], dtype=object)


def _near_land(
    polygons: NDArray[np.object_],
    bounds: tuple[float, float, float, float],
    area: StudyArea,
    detail: int = DETAIL,
) -> NDArray[np.object_]:
    """Return the polygons that reach into the bounds, simplified for the map."""
    near: NDArray[np.object_] = polygons[shapely.intersects(polygons, shapely.box(*bounds))]
    west, south, east, north = area.bounds
    tolerance = max(east - west, north - south) / detail
    if tolerance > SOURCE_DETAIL:
        near = shapely.simplify(near[shapely.area(near) > tolerance**2], tolerance)
    return near


def _coast(land: NDArray[np.object_], bounds: tuple[float, float, float, float]) -> Any:
    """Return the coast within the bounds, without edges where polygons were cut."""
    shores = shapely.clip_by_rect(shapely.boundary(land), *bounds)
    return shapely.MultiLineString(_parts(shores, "LineString"))


def _parts(shapes: Any, kind: str) -> list[Any]:
    """Return the shapes of type `kind`; clipping may leave others, such as points."""
    return [part for part in shapely.get_parts(shapes) if part.geom_type == kind]


def _to_geojson(shape: Any) -> dict[str, Any]:
    # Five decimals of a degree are about a metre.
    rounded = shapely.transform(shape, lambda degrees: np.round(degrees, 5))
    geometry: dict[str, Any] = json.loads(shapely.to_geojson(rounded))
    return geometry
