"""Cutting polygons that cross the 180th meridian."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.affinity import translate


def cut_at_180(polygon: shapely.Polygon) -> list[shapely.Polygon]:
    """Cut a polygon in degrees where it crosses the 180th meridian; return its parts.

    If the exterior ring, followed across that meridian, does not return to its first longitude, the
    polygon is taken to contain the south pole.
    """
    if not any(_jumps(ring) for ring in shapely.get_rings(polygon)):
        return [polygon]
    whole = shapely.Polygon(_followed(polygon.exterior), polygon.interiors)
    cuts = (
        shapely.clip_by_rect(translate(whole, turn), -180, -90, 180, 90) for turn in (-360, 0, 360)
    )
    return [part for cut in cuts for part in shapely.get_parts(cut) if part.geom_type == "Polygon"]


def _jumps(ring: shapely.LinearRing) -> bool:
    return bool((np.abs(np.diff(shapely.get_coordinates(ring)[:, 0])) > 180).any())


def _followed(ring: shapely.LinearRing) -> NDArray[np.float64]:
    """Return a ring's vertices (n, 2) as longitude and latitude in degrees.

    Longitudes continue beyond ±180 degrees instead of jumping.
    """
    longitude, latitude = shapely.get_coordinates(ring).T
    longitude = np.unwrap(longitude, period=360)
    longitude -= 360 * np.round(longitude.mean() / 360)
    corners = np.column_stack([longitude, latitude])
    if abs(longitude[-1] - longitude[0]) < 180:
        return corners
    return np.vstack([corners, [[longitude[-1], -90], [longitude[0], -90], corners[0]]])
