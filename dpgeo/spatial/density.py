"""Declared public density: the expected number of people in each public region.

Examples are a census grid, or the regions of a map published earlier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.phrases import InvalidValue
from dpgeo.spatial.area import StudyArea, ground_square_kilometres
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees, to_mercator
from dpgeo.spatial.zones import Zones

Floats = NDArray[np.float64]

AMOUNTS = ("people", "population", "estimate", "count", "value")
"""Property names that are read as a region's number of people; case does not matter.

Files of releases use "estimate".
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Density:
    """Public regions with the number of people expected in each.

    `zones` are the n regions, and `amounts`, float64 (n,), the numbers of people. If
    regions overlap, their people add up. Negative numbers, as in noisy counts, are treated
    as 0. Raises ValueError if a number is not finite, or if no number is above 0.
    """

    zones: Zones
    amounts: Floats

    def __post_init__(self) -> None:
        if self.amounts.shape != (len(self.zones),) or not np.isfinite(self.amounts).all():
            raise InvalidValue("Every area needs a finite number of people.")
        if not (self.amounts > 0).any():
            raise InvalidValue("No area has a number above 0; give at least one.")

    def __len__(self) -> int:
        return len(self.zones)

    @classmethod
    def from_geojson(cls, document: Mapping[str, Any], *, key: str = "", name: str = "") -> Self:
        """Read the density from a GeoJSON FeatureCollection of polygons.

        `key` is the name of the property that holds a region's number of people. If it is
        empty, the first name in AMOUNTS that the first feature has as a property is used.
        Raises ValueError for an invalid document.
        """
        zones = Zones.from_geojson(document, name=name)
        properties = [feature.get("properties") or {} for feature in document["features"]]
        wanted = key or _usual(properties[0])
        amounts = [_amount(each, wanted, number) for number, each in enumerate(properties, 1)]
        return cls(zones=zones, amounts=np.array(amounts, dtype=np.float64))

    def to_geojson(self) -> dict[str, Any]:
        """Return a FeatureCollection that `from_geojson` reads back with key="key"."""
        document = self.zones.to_geojson()
        for feature, amount in zip(document["features"], self.amounts.tolist(), strict=True):
            feature["properties"]["key"] = amount
        return document

    @property
    def ground_metres(self) -> float:
        """Median width of the regions in metres, weighted by people.

        The width of a region is the side of a square of the same area.
        """
        width = np.sqrt(ground_square_kilometres(self.zones.shapes)) * 1000
        order = np.argsort(width)
        people = np.cumsum(np.maximum(self.amounts, 0)[order])
        return float(width[order][np.searchsorted(people, people[-1] / 2)])

    def within(self, area: StudyArea) -> Self:
        """Restrict the density to a study area.

        A region that is clipped keeps a share of its people proportional to the area that remains.
        Raises ValueError if nobody is expected in the study area.
        """
        cut = self.zones.within(area)
        numbers = {key: number for number, key in enumerate(self.zones.keys)}
        indices = [numbers[key] for key in cut.keys]
        share = shapely.area(cut.shapes) / shapely.area(self.zones.shapes[indices])
        return type(self)(zones=cut, amounts=self.amounts[indices] * share)

    def on(self, grid: Grid) -> Floats:
        """Return the expected number of people in each cell of a grid, in the grid's shape.

        The people of a region are divided among the cells whose centres lie in it. If a region
        contains no centre, all of its people go to the cell that contains a point inside the
        region.
        """
        row, column = np.divmod(np.arange(grid.size), grid.columns)
        x = grid.west + (column + 0.5) * grid.cell
        y = grid.north - (row + 0.5) * grid.cell
        longitude, latitude = to_degrees(x, y)
        cell, zone = self.zones.locator().locate(longitude, latitude)
        without_cell = np.setdiff1d(np.arange(len(self)), zone)
        inner = shapely.get_coordinates(shapely.point_on_surface(self.zones.shapes[without_cell]))
        inner_cell = grid.locate(*to_mercator(inner[:, 0], inner[:, 1]))
        cell, zone = np.concatenate([cell, inner_cell]), np.concatenate([zone, without_cell])
        cell, zone = cell[cell >= 0], zone[cell >= 0]
        # Cells closer to the equator cover more ground.
        ground = np.cos(np.radians(latitude[cell])) ** 2
        whole = np.bincount(zone, weights=ground, minlength=len(self))
        part = np.maximum(self.amounts, 0)[zone] * ground / whole[zone]
        people = np.bincount(cell, weights=part, minlength=grid.size).astype(np.float64)
        return people.reshape(grid.shape)


def _usual(properties: Mapping[str, Any]) -> str:
    names = {str(name).lower(): str(name) for name in reversed(list(properties))}
    amount = next((names[usual] for usual in AMOUNTS if usual in names), None)
    if amount is None:
        raise InvalidValue(
            "Feature 1 has none of the properties {names}; say which property holds the number "
            "of people in an area.",
            names=", ".join(AMOUNTS),
        )
    return amount


def _amount(properties: Mapping[str, Any], wanted: str, place: int) -> float:
    value = properties.get(wanted)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidValue(
            "Feature {place} has no number in its property {wanted!r}; give every area the "
            "number of people expected in it.",
            place=place,
            wanted=wanted,
        )
    return float(value)
