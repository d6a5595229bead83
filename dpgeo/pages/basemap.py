"""Simple basemap around a study area, with land from Natural Earth.

The land is part of the built frontend (`frontend/scripts/prepare-land.mjs`). Without it, maps show
no coast, but everything else still works.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.datasets.dry_land import land_file
from dpgeo.datasets.names_on_maps import names_on
from dpgeo.ground.map_names import sources_of
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.land import land_polygons
from dpgeo.spatial.projection import MAX_LATITUDE, to_degrees

SURROUNDINGS = 1.5
"""Distance by which the map extends beyond the study area on each side.

The unit is the length of the area's longer side.
"""

DETAIL = 3000
"""Bends and islands smaller than the study area's longer side divided by this number are left out.
"""

PLAIN_DETAIL = 1000
"""On maps for rough orientation only, bends and islands smaller than the area's longer side divided
by this number are left out (instead of `DETAIL`).
"""

SOURCE_DETAIL = 2e-4
"""Size in degrees of the smallest bends in the source: finer simplification has no effect."""


def basemap(area: StudyArea) -> dict[str, Any]:
    """Return the land, the land inside the area, and the coast, as GeoJSON in degrees.

    "bounds" are the west, south, east and north limits of the map. Nothing here depends on private
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
    """Return coarse land as GeoJSON, under the keys "bounds" and "land" as in `basemap`."""
    bounds = surroundings(area)
    land = _near_land(land_polygons(land_file()), bounds, area, detail=PLAIN_DETAIL)
    clipped = shapely.clip_by_rect(land, *bounds)
    return {
        "bounds": list(bounds),
        "land": _to_geojson(shapely.MultiPolygon(_parts(clipped, "Polygon"))),
    }


def basemap_names(area: StudyArea) -> dict[str, Any]:
    """Return the names to write on a map of an area, most important first, and their sources.

    The names are not part of `basemap`, because that is cached, and they must change as soon as a
    basemap region is added.
    """
    found = names_on(area, surroundings(area))
    names = [
        {
            "name": each.name,
            "kind": each.kind,
            "at": [round(each.longitude, 4), round(each.latitude, 4)],
        }
        for each in found
    ]
    return {"names": names, "names_from": sources_of(found)}


def surroundings(area: StudyArea) -> tuple[float, float, float, float]:
    """Return west, south, east and north in degrees of everything that the area's map may show."""
    west, south, east, north = area.mercator_bounds
    reach = SURROUNDINGS * max(east - west, north - south)
    lon, lat = to_degrees([west - reach, east + reach], [south - reach, north + reach])
    return (
        max(-180.0, float(lon[0])),
        max(-MAX_LATITUDE, float(lat[0])),
        min(180.0, float(lon[1])),
        min(MAX_LATITUDE, float(lat[1])),
    )


def _near_land(
    polygons: NDArray[np.object_],
    bounds: tuple[float, float, float, float],
    area: StudyArea,
    detail: int = DETAIL,
) -> NDArray[np.object_]:
    """Return the land polygons that intersect the bounds, simplified for the map of an area.

    Bends and islands smaller than the area's longer side divided by `detail` are left out.
    """
    near: NDArray[np.object_] = polygons[shapely.intersects(polygons, shapely.box(*bounds))]
    west, south, east, north = area.bounds
    tolerance = max(east - west, north - south) / detail
    if tolerance > SOURCE_DETAIL:
        near = shapely.simplify(near[shapely.area(near) > tolerance**2], tolerance)
    return near


def _coast(land: NDArray[np.object_], bounds: tuple[float, float, float, float]) -> Any:
    """Return the coast within the bounds, without the edges along which polygons were cut."""
    shores = shapely.clip_by_rect(shapely.boundary(land), *bounds)
    return shapely.MultiLineString(_parts(shores, "LineString"))


def _parts(shapes: Any, kind: str) -> list[Any]:
    """Return the shapes of type `kind` only; clipping may produce others, such as points."""
    return [part for part in shapely.get_parts(shapes) if part.geom_type == kind]


def _to_geojson(shape: Any) -> dict[str, Any]:
    # Five decimals of a degree are a precision of about one metre.
    rounded = shapely.transform(shape, lambda degrees: np.round(degrees, 5))
    geometry: dict[str, Any] = json.loads(shapely.to_geojson(rounded))
    return geometry
