"""Coordinate systems of OGC API - Features, Part 2 (18-058r1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.feature_pages import Box, Feature
from dpgeo.core.errors import InvalidInput
from dpgeo.spatial.projection import to_degrees, to_mercator

CRS84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
EPSG_4326 = "http://www.opengis.net/def/crs/EPSG/0/4326"
EPSG_3857 = "http://www.opengis.net/def/crs/EPSG/0/3857"

SYSTEMS = (CRS84, EPSG_4326, EPSG_3857)
"""The coordinate systems in which features can be requested. In EPSG:4326 the latitude
comes first.
"""

CENTIMETRE = 2
"""Number of decimal places of coordinates in metres: the last one is a centimetre."""


def read_system(text: str) -> str:
    """Return `text` if it is the address of a known coordinate system.

    Raises InvalidInput otherwise.
    """
    if text not in SYSTEMS:
        raise InvalidInput("Choose from {known}.", known=", ".join(SYSTEMS))
    return text


def in_system(features: Sequence[Feature], system: str) -> list[Feature]:
    """Convert geometries from degrees, longitude first, to the coordinate system `system`."""
    if system == CRS84 or not features:
        return list(features)
    shapes = shapely.from_geojson([each.geometry for each in features])
    texts = shapely.to_geojson(
        shapely.transform(shapes, _swapped if system == EPSG_4326 else _flat)
    )
    return [
        dataclasses.replace(each, geometry=text)
        for each, text in zip(features, texts.tolist(), strict=True)
    ]


def _swapped(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    return degrees[:, ::-1]


def _flat(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack(to_mercator(degrees[:, 0], degrees[:, 1])).round(CENTIMETRE)


def degrees_of(numbers: Sequence[float], system: str) -> Box:
    """Convert a box given in a coordinate system to degrees: west, south, east, north."""
    first, second, third, fourth = numbers
    if system == EPSG_4326:
        return second, first, fourth, third
    if system == EPSG_3857:
        longitude, latitude = to_degrees(np.array([first, third]), np.array([second, fourth]))
        (west, east), (south, north) = np.clip(longitude, -180, 180), latitude
        return float(west), float(south), float(east), float(north)
    return first, second, third, fourth
