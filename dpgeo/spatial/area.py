"""Study area: the public polygon that contains every counted position."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from dpgeo.phrases import InvalidValue
from dpgeo.spatial.prepared import prepared
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, MAX_LATITUDE, to_mercator


@dataclass(frozen=True, slots=True)
class StudyArea:
    """A polygon or multipolygon in longitude and latitude (degrees, WGS84, EPSG:4326).

    Raises ValueError if the shape is not a polygon, is empty or invalid, or extends beyond
    longitudes of ±180 degrees or latitudes of ±MAX_LATITUDE.
    """

    shape: Any

    def __post_init__(self) -> None:
        if self.shape.geom_type not in {"Polygon", "MultiPolygon"}:
            raise InvalidValue(
                "The study area must be a polygon, not a {kind}; draw its outline.",
                kind=self.shape.geom_type,
            )
        if self.shape.is_empty or not self.shape.is_valid or self.shape.area <= 0:
            raise InvalidValue(
                "The study area is empty or crosses itself; redraw its outline so that it "
                "encloses some ground."
            )
        west, south, east, north = self.shape.bounds
        if not all(map(math.isfinite, (west, south, east, north))):
            raise InvalidValue("The study area has a coordinate that is not a number; correct it.")
        if west < -180 or east > 180 or south < -MAX_LATITUDE or north > MAX_LATITUDE:
            raise InvalidValue(
                "The study area must lie between longitudes -180 and 180 and latitudes "
                "-{most:g} and {most:g}; check the order of the coordinates (longitude first).",
                most=MAX_LATITUDE,
            )

    @classmethod
    def from_bounds(cls, west: float, south: float, east: float, north: float) -> Self:
        """Build a box from its edges in degrees. Raises ValueError if they do not form a box."""
        if not all(map(math.isfinite, (west, south, east, north))):
            raise InvalidValue("The study area has a coordinate that is not a number; correct it.")
        if west >= east:
            raise InvalidValue(
                "The western side {west:g} must lie west of the eastern side {east:g}; an area "
                "across the antimeridian is not supported, split it in two.",
                west=west,
                east=east,
            )
        if south >= north:
            raise InvalidValue(
                "The southern side {south:g} must lie south of the northern side {north:g}; "
                "swap them.",
                south=south,
                north=north,
            )
        return cls(shapely.box(west, south, east, north))

    @classmethod
    def from_geojson(cls, geometry: Mapping[str, Any]) -> Self:
        """Read the area from a GeoJSON geometry or Feature. Raises ValueError if it is invalid."""
        if geometry.get("type") == "Feature":
            geometry = geometry.get("geometry") or {}
        try:
            shape = shapely.from_geojson(json.dumps(geometry))
        except shapely.GEOSException as error:
            raise InvalidValue(
                "The study area is not a GeoJSON geometry; give a Polygon or MultiPolygon."
            ) from error
        return cls(shape)

    def to_geojson(self) -> dict[str, Any]:
        """Return the GeoJSON geometry of the area."""
        geometry: dict[str, Any] = json.loads(shapely.to_geojson(self.shape))
        return geometry

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north edges in degrees."""
        west, south, east, north = self.shape.bounds
        return float(west), float(south), float(east), float(north)

    @property
    def is_box(self) -> bool:
        """Whether the area is exactly its own bounding box."""
        return bool(shapely.equals(self.shape, shapely.box(*self.bounds)))

    @property
    def mercator_bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north edges in Web Mercator metres."""
        west, south, east, north = self.bounds
        xs, ys = to_mercator([west, east], [south, north])
        return float(xs[0]), float(ys[0]), float(xs[1]), float(ys[1])

    @property
    def ground_square_kilometres(self) -> float:
        """The area on the ground, in square kilometres."""
        return float(ground_square_kilometres(self.shape))

    def covers(self, longitude: ArrayLike, latitude: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask (n,) of the positions in degrees that are in the area or on its edge.

        The result is False for a position with a NaN coordinate.
        """
        lon = np.asarray(longitude, dtype=np.float64)
        lat = np.asarray(latitude, dtype=np.float64)
        west, south, east, north = self.bounds
        inside = (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
        if not self.is_box:
            shape = prepared(self.shape)
            inside[inside] = shapely.intersects_xy(shape, lon[inside], lat[inside])
        return inside


def ground_square_kilometres(shapes: Any) -> Any:
    """Return the ground area of one shape in degrees, or of each shape in an array (n,).

    Areas are measured in the cylindrical equal-area projection of the sphere.
    """
    flat = shapely.transform(
        shapes,
        lambda degrees: np.column_stack(
            [
                np.radians(degrees[:, 0]) * EARTH_RADIUS_METRES / 1000,
                np.sin(np.radians(degrees[:, 1])) * EARTH_RADIUS_METRES / 1000,
            ]
        ),
    )
    return shapely.area(flat)
