"""Regions: declared zones that rows name by a key, and the points at which these rows count."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import shapely

from dpgeo.phrases import InvalidValue
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import to_mercator
from dpgeo.spatial.zones import Zones


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The representative point, as (longitude, latitude), for each key by which rows name a zone.

    If `lowercase` is true, capital letters in a row's key do not matter.
    """

    points: Mapping[str, tuple[float, float]]
    lowercase: bool = False

    @classmethod
    def of_zones(cls, zones: Zones, area: StudyArea) -> Self:
        """Return the regions that the keys of zones name.

        Warehouses write H3 indexes as text or as whole numbers, so H3 cells have both keys. Raises
        ValueError for a zone whose representative point is not in this zone alone, because its rows
        would count elsewhere, too.
        """
        located = shapely.point_on_surface(zones.shapes)
        longitude, latitude = shapely.get_x(located), shapely.get_y(located)
        point, zone = zones.locator().locate_projected(*to_mercator(longitude, latitude))
        times = np.bincount(point, minlength=len(zones))
        wrong = (times != 1) | ~area.covers(longitude, latitude)
        wrong[point[point != zone]] = True
        if wrong.any():
            raise InvalidValue(
                "The zone {key!r} overlaps another one or is too narrow, so rows that name it "
                "cannot count in it alone; declare a layer whose zones do not overlap.",
                key=zones.keys[int(np.flatnonzero(wrong)[0])],
            )
        pairs = list(zip(longitude.tolist(), latitude.tolist(), strict=True))
        points = {_composed(key): pair for key, pair in zip(zones.keys, pairs, strict=True)}
        if len(points) != len(zones):
            raise InvalidValue(
                "Two zones of the layer have keys that differ only in how accents are stored; "
                "declare a layer whose keys differ."
            )
        if not _are_h3(zones.keys):
            return cls(points)
        numbers = {str(int(key, 16)): pair for key, pair in points.items()}
        return cls({key.lower(): pair for key, pair in points.items()} | numbers, lowercase=True)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the regions from JSON written by `to_json`."""
        points = {key: (pair[0], pair[1]) for key, pair in document["points"].items()}
        return cls(points, document["lowercase"])

    def to_json(self) -> dict[str, Any]:
        """Return the regions as plain JSON."""
        return {"points": self.points, "lowercase": self.lowercase}


def _composed(key: str) -> str:
    return unicodedata.normalize("NFC", key)


def _are_h3(keys: tuple[str, ...]) -> bool:
    import h3

    return all(map(h3.is_valid_cell, keys))
