"""Zones: declared public polygons in which people are counted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from dpgeo.blanks import trim
from dpgeo.phrases import InvalidValue
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.prepared import prepared, prepared_copies
from dpgeo.spatial.projection import MAX_LATITUDE, to_degrees
from dpgeo.spatial.zone_raster import ZoneRaster

MAX_ZONES = 20_000
"""Largest number of zones; with more, maps would be hard to read and counts inaccurate."""

MAX_CORNERS = 500_000
"""Largest total number of vertices of all zones; every file of a map of zones has all of them."""

MAX_NAME_LENGTH = 200

KEY_PROPERTIES = ("key", "code", "id", "gid", "geoid")
NAME_PROPERTIES = ("name", "title", "label")
"""Names of properties that are read as a feature's key or name, in upper or lower case."""

POLYGON, MULTIPOLYGON = 3, 6
"""Shapely's ids of the geometry types Polygon and MultiPolygon."""

RASTER_POSITIONS = 10_000
"""Number of positions from which building a raster of the zones saves time."""

NEAR_CELLS = 256
"""Number of cells along each side of a raster over the bounding boxes of the zones.

The largest number of boxes that intersect one cell bounds the number of boxes that any position is
in.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Zones:
    """Polygons in degrees (WGS84), each with a unique key and a name.

    `shapes` (n,) are shapely polygons and multipolygons. Zones may overlap and need not cover the
    study area. A position on the common border of two zones is in both. Raises ValueError for
    invalid zones; the message names the problem and the remedy.
    """

    keys: tuple[str, ...]
    names: tuple[str, ...]
    shapes: NDArray[np.object_]

    def __post_init__(self) -> None:
        if not self.keys:
            raise InvalidValue("There is no zone in it; give at least one polygon.")
        if len(self.keys) > MAX_ZONES:
            raise InvalidValue(
                "Has {count:,} zones; give at most {most:,}, or use a grid.",
                count=len(self.keys),
                most=MAX_ZONES,
            )
        if not len(self.keys) == len(self.names) == len(self.shapes):
            raise InvalidValue("Every zone needs a key, a name and a shape.")
        _check_words(self.keys, self.names)
        _check_shapes(self.keys, self.shapes)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def smallest_side_metres(self) -> float:
        """The side in metres of a square with the ground area of the smallest zone."""
        smallest = self.shapes[int(np.argmin(shapely.area(self.shapes)))]
        return 1000 * math.sqrt(StudyArea(smallest).ground_square_kilometres)

    @property
    def most_header_bytes(self) -> int:
        """Upper bound on the size in bytes of the JSON of keys and names from `to_packed`."""
        # An escaped character takes up to 12 bytes in JSON.
        return 12 * sum(map(len, (*self.keys, *self.names))) + 6 * len(self) + 50

    @classmethod
    def from_geojson(cls, document: Mapping[str, Any], *, key: str = "", name: str = "") -> Self:
        """Read the zones from a GeoJSON FeatureCollection of polygons.

        `key` and `name` are the names of the properties with the zones' keys and names. If `key` is
        empty, the keys are the features' ids, or else the first of KEY_PROPERTIES that all features
        have with distinct values, or else the features' numbers, counted from 1. If `name` is
        empty, the names are the first of NAME_PROPERTIES that all features have, or else the keys.
        Raises ValueError for an invalid document.
        """
        features = _features(document)
        if len(features) > MAX_ZONES:
            raise InvalidValue(
                "Has {count:,} zones; give at most {most:,}, or use a grid.",
                count=len(features),
                most=MAX_ZONES,
            )
        properties = [_properties(feature) for feature in features]
        keys = _keys(features, properties, key)
        return cls(
            keys=keys,
            names=_named(properties, name, keys),
            shapes=_shapes(features, keys),
        )

    def to_geojson(self) -> dict[str, Any]:
        """Return a GeoJSON FeatureCollection that `from_geojson` can read."""
        return {
            "type": "FeatureCollection",
            "features": [
                {
                    "type": "Feature",
                    "id": key,
                    "properties": {"key": key, "name": name},
                    "geometry": json.loads(shapely.to_geojson(shape)),
                }
                for key, name, shape in zip(self.keys, self.names, self.shapes, strict=True)
            ],
        }

    def within(self, area: StudyArea) -> Self:
        """Clip the zones to a study area, leaving out zones outside it.

        Positions outside the area are never counted, so counts do not change. Raises ValueError if
        no zone intersects the area.
        """
        shapes = self.shapes.copy()
        cut = ~shapely.covers(prepared(area.shape), shapes)
        shapes[cut] = [_polygons(each) for each in shapely.intersection(shapes[cut], area.shape)]
        touching = np.flatnonzero(shapely.area(shapes) > 0)
        if not touching.size:
            raise InvalidValue(
                "No zone touches the study area; check the order of the coordinates (longitude "
                "first) and that they are degrees."
            )
        return type(self)(
            keys=tuple(self.keys[index] for index in touching),
            names=tuple(self.names[index] for index in touching),
            shapes=shapes[touching],
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Zones)
            and (self.keys, self.names) == (other.keys, other.names)
            and bool(shapely.equals_identical(self.shapes, other.shapes).all())
        )

    def to_packed(self) -> tuple[dict[str, Any], bytes]:
        """Return the keys and names as JSON, and the shapes as one collection in little-endian WKB.

        GeoJSON takes fifty times as long to write and to read.
        """
        shapes = shapely.geometrycollections(self.shapes)
        document = {"keys": list(self.keys), "names": list(self.names)}
        return document, shapely.to_wkb(shapes, byte_order=1)

    @classmethod
    def from_packed(cls, document: Mapping[str, Any], shapes: bytes) -> Self:
        """Return the zones that `to_packed` wrote. Raises ValueError for anything else."""
        try:
            collection = shapely.from_wkb(shapes)
        except shapely.GEOSException as error:
            raise InvalidValue("The shapes of the zones are not readable.") from error
        return cls(
            keys=tuple(map(str, document["keys"])),
            names=tuple(map(str, document["names"])),
            shapes=np.asarray(shapely.get_parts(collection), dtype=object),
        )

    def locator(self) -> Locator:
        """Return a locator that finds the zones of many positions."""
        return Locator(self)


class Locator:
    """Finds the zones that contain positions, by a raster of the zones and an index of their
    bounds.
    """

    def __init__(self, zones: Zones) -> None:
        self._raster: ZoneRaster | None = None
        self._has_raster = False
        self._shapes = prepared_copies(zones.shapes)
        self._tree = shapely.STRtree(self._shapes)
        self.most_near = _most_near(shapely.bounds(self._shapes))
        """Upper bound on the number of zones whose bounds contain one position."""

    def locate(
        self, longitude: ArrayLike, latitude: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pairs of a position and a zone that contains it, as two arrays (m,).

        Positions (n,) are in degrees. The first array holds the indices of positions, the second
        the indices of zones; pairs are ordered by position, then zone. A position outside all zones
        is in no pair.
        """
        lon = np.asarray(longitude, dtype=np.float64)
        lat = np.asarray(latitude, dtype=np.float64)
        raster = self._raster_for(lon.size)
        if raster is None:
            return self.tested(lon, lat)
        pairs, left = raster.locate(lon, lat)
        return self._completed(pairs, left, lon.size, lon[left], lat[left])

    def locate_projected(
        self, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pairs of a position and a zone that contains it, as `locate` does.

        Positions (n,) are in Web Mercator metres.
        """
        raster = self._raster_for(x.size)
        if raster is None:
            return self.tested(*to_degrees(x, y))
        pairs, left = raster.locate_projected(x, y)
        return self._completed(pairs, left, x.size, *to_degrees(x[left], y[left]))

    def _raster_for(self, positions: int) -> ZoneRaster | None:
        """Return the raster, or None if there is none.

        It is made the first time that `positions`, the number to be located, is large enough.
        """
        if positions >= RASTER_POSITIONS and not self._has_raster:
            self._raster, self._has_raster = ZoneRaster.over(self._shapes, self.tested), True
        return self._raster

    def _completed(
        self,
        pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
        left: NDArray[np.int64],
        positions: int,
        lon: NDArray[np.float64],
        lat: NDArray[np.float64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the `pairs` found by a raster, and those found by testing the other positions.

        `left` (m,) holds the indices of these other positions, and `lon` and `lat` (m,) their
        degrees. `positions` is the number of all positions.
        """
        position, zone = pairs
        if not left.size:
            return position, zone
        tested, tested_zone = self.tested(lon, lat)
        position = np.concatenate([position, left[tested]])
        zone = np.concatenate([zone, tested_zone])
        if not position.size or np.bincount(position).max() == 1:
            single = np.full(positions, -1, dtype=np.int64)
            single[position] = zone
            position = np.flatnonzero(single >= 0)
            return position, single[position]
        order = np.lexsort((zone, position))
        return position[order], zone[order]

    def tested(
        self, lon: NDArray[np.float64], lat: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Locate positions by testing each against the zones whose bounds contain it."""
        position, zone = self._tree.query(shapely.points(lon, lat))
        inside = shapely.intersects_xy(self._shapes[zone], lon[position], lat[position])
        position, zone = position[inside], zone[inside]
        order = np.lexsort((zone, position))
        return position[order].astype(np.int64), zone[order].astype(np.int64)


def _most_near(bounds: NDArray[np.float64]) -> int:
    """Return the largest number of boxes (n, 4) that intersect one cell of a raster.

    The raster covers all boxes, with NEAR_CELLS cells along each side.
    """
    low, high = bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)
    scale = NEAR_CELLS / np.maximum(high - low, 1e-300)
    west, south = np.clip((bounds[:, :2] - low) * scale, 0, NEAR_CELLS - 1).astype(np.int64).T
    east, north = np.clip((bounds[:, 2:] - low) * scale, 0, NEAR_CELLS - 1).astype(np.int64).T
    corners = np.zeros((NEAR_CELLS + 1, NEAR_CELLS + 1), dtype=np.int64)
    np.add.at(corners, (south, west), 1)
    np.add.at(corners, (north + 1, east + 1), 1)
    np.subtract.at(corners, (north + 1, west), 1)
    np.subtract.at(corners, (south, east + 1), 1)
    return int(corners.cumsum(axis=0).cumsum(axis=1).max())


def _check_words(keys: Sequence[str], names: Sequence[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if not key or key in seen:
            raise InvalidValue(
                "The key {key!r} is empty or given twice; name a property that tells zones apart.",
                key=key,
            )
        seen.add(key)
    for word in (*keys, *names):
        if len(word) > MAX_NAME_LENGTH or not word.isprintable():
            raise InvalidValue(
                "The key or name {name!r} is longer than {most} characters or has unprintable "
                "characters; shorten it.",
                name=word[:40],
                most=MAX_NAME_LENGTH,
            )


def _check_shapes(keys: Sequence[str], shapes: NDArray[np.object_]) -> None:
    broken = np.flatnonzero(~shapely.is_valid(shapes))
    if broken.size:
        reason = shapely.is_valid_reason(shapes[broken[0]])
        raise InvalidValue(
            "Zone {key!r} is not a valid polygon ({reason}); repair it, for example in QGIS by "
            "Fix geometries.",
            key=keys[broken[0]],
            reason=reason,
        )
    polygonal = np.isin(shapely.get_type_id(shapes), (POLYGON, MULTIPOLYGON))
    wrong = np.flatnonzero(~polygonal | (shapely.area(shapes) <= 0))
    if wrong.size:
        raise InvalidValue("Zone {key!r} has no area; give only polygons.", key=keys[wrong[0]])
    west, south, east, north = shapely.bounds(shapes).T
    bounds = (west.min(), south.min(), east.max(), north.max())
    if not all(map(math.isfinite, bounds)) or (
        west.min() < -180 or east.max() > 180 or max(-south.min(), north.max()) > MAX_LATITUDE
    ):
        raise InvalidValue(
            "Zones must lie between longitudes -180 and 180 and latitudes -{most:g} and "
            "{most:g}; export them in degrees (WGS84, EPSG:4326), longitude first.",
            most=MAX_LATITUDE,
        )
    corners = int(shapely.get_num_coordinates(shapes).sum())
    if corners > MAX_CORNERS:
        raise InvalidValue(
            "Has {corners:,} corners; simplify to at most {most:,}.",
            corners=corners,
            most=MAX_CORNERS,
        )


def _features(document: Mapping[str, Any]) -> list[Any]:
    if not isinstance(document, Mapping) or document.get("type") != "FeatureCollection":
        raise InvalidValue("Must be a GeoJSON FeatureCollection of polygons.")
    features = document.get("features")
    if not isinstance(features, list) or not features:
        raise InvalidValue("The collection has no features; give at least one polygon.")
    crs = document.get("crs")
    if crs is not None and not str(crs).rstrip("'}\" ").endswith(("CRS84", "4326")):
        raise InvalidValue(
            "The file names a coordinate system of its own; export it in degrees (WGS84, "
            "EPSG:4326), as GeoJSON is meant to be."
        )
    return features


def _properties(feature: Any) -> dict[str, str]:
    """Return those properties of a feature that are strings or integers, as strings."""
    if not isinstance(feature, Mapping) or feature.get("type") != "Feature":
        raise InvalidValue("Every member of the collection must be a GeoJSON Feature.")
    values = feature.get("properties") or {}
    if not isinstance(values, Mapping):
        raise InvalidValue("The properties of a feature must be an object.")
    return {
        str(name): trim(str(value))
        for name, value in values.items()
        if isinstance(value, (str, int)) and not isinstance(value, bool)
    }


def _keys(
    features: Sequence[Any], properties: Sequence[dict[str, str]], wanted: str
) -> tuple[str, ...]:
    if wanted:
        return _column(properties, wanted)
    ids = [feature.get("id") for feature in features]
    if all(isinstance(each, (str, int)) and trim(str(each)) for each in ids):
        return tuple(trim(str(each)) for each in ids)
    for usual in KEY_PROPERTIES:
        values = _usual(properties, usual)
        if values and len(set(values)) == len(values):
            return values
    return tuple(str(number) for number in range(1, len(features) + 1))


def _named(
    properties: Sequence[dict[str, str]], wanted: str, keys: tuple[str, ...]
) -> tuple[str, ...]:
    if wanted:
        return _column(properties, wanted)
    columns = (_usual(properties, usual) for usual in NAME_PROPERTIES)
    return next((each for each in columns if each), keys)


def _column(properties: Sequence[dict[str, str]], wanted: str) -> tuple[str, ...]:
    """Return the value of a property for each feature. Raises ValueError if a feature lacks it."""
    for number, each in enumerate(properties, start=1):
        if not each.get(wanted):
            known = ", ".join(list(properties[0])[:20]) or "none"
            raise InvalidValue(
                "Feature {number} has no text or whole number in its property {wanted!r}; the "
                "first feature has: {known}.",
                number=number,
                wanted=wanted,
                known=known,
            )
    return tuple(each[wanted] for each in properties)


def _usual(properties: Sequence[dict[str, str]], usual: str) -> tuple[str, ...] | None:
    """Return each feature's value of a property, or None if any feature lacks the property.

    `usual` is the property's name in lower case; the features may spell it in upper case, all
    alike.
    """
    name = next((each for each in properties[0] if each.lower() == usual), None)
    if name is None or not all(each.get(name) for each in properties):
        return None
    return tuple(each[name] for each in properties)


def _shapes(features: Sequence[Any], keys: Sequence[str]) -> NDArray[np.object_]:
    shapes = np.empty(len(features), dtype=object)
    for place, feature in enumerate(features):
        try:
            shapes[place] = shapely.from_geojson(json.dumps(feature.get("geometry")))
        except (shapely.GEOSException, TypeError, ValueError):
            shapes[place] = None
        if shapes[place] is None:
            raise InvalidValue(
                "Zone {key!r} has no readable geometry; give it a Polygon.", key=keys[place]
            )
    return np.asarray(shapely.force_2d(shapes), dtype=object)


def _polygons(shape: Any) -> Any:
    """Return only the polygons of a shape, since clipping may leave lines and points."""
    if shapely.get_type_id(shape) in (POLYGON, MULTIPOLYGON):
        return shape
    parts = [part for part in shapely.get_parts(shape) if shapely.get_type_id(part) == POLYGON]
    return shapely.multipolygons(parts) if parts else shapely.Polygon()
