"""Web Mercator (EPSG:3857), the projection in which grid cells are squares.

The formulas are those of Snyder, Map Projections: A Working Manual (1987), section 7, on the
sphere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

MERCATOR_RADIUS_METRES = 6_378_137.0
"""Radius of the sphere of EPSG:3857."""

METRES_PER_DEGREE = math.radians(MERCATOR_RADIUS_METRES)
"""Web Mercator metres for each degree of longitude."""

EARTH_RADIUS_METRES = 6_371_008.8
"""Mean radius of the Earth, for true distances and areas on the ground."""

MAX_LATITUDE = 85.0
"""Largest latitude in degrees, north or south; Web Mercator maps end just beyond it."""


def to_mercator(
    longitude: ArrayLike, latitude: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Project degrees (WGS84) to Web Mercator metres; shapes broadcast."""
    x = MERCATOR_RADIUS_METRES * np.radians(np.asarray(longitude, dtype=np.float64))
    y = MERCATOR_RADIUS_METRES * np.arcsinh(
        np.tan(np.radians(np.asarray(latitude, dtype=np.float64)))
    )
    return x, y


def to_degrees(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Convert Web Mercator metres to longitudes and latitudes in degrees."""
    longitude = np.degrees(np.asarray(x, dtype=np.float64) / MERCATOR_RADIUS_METRES)
    latitude = np.degrees(
        np.arctan(np.sinh(np.asarray(y, dtype=np.float64) / MERCATOR_RADIUS_METRES))
    )
    return longitude, latitude


def ground_scale(latitude: float) -> float:
    """Return the ground length, in metres, of one Web Mercator metre at a latitude in degrees."""
    return math.cos(math.radians(latitude)) * EARTH_RADIUS_METRES / MERCATOR_RADIUS_METRES
