"""Random places, evenly spread in regions of a study area, from a generator with a public key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.area import StudyArea

DECIMALS = 7
"""Decimal places of coordinates in degrees, enough for about a centimetre on the ground."""

TRIES = 24
"""Number of rounds of rejection sampling in the box of a region. For points that are still missing
afterwards, there are as many in the box around the region's part of the study area.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regions:
    """Boxes (n,) in degrees, and shapes within the boxes in which points must lie.

    `shapes` is None if points may lie anywhere in the study area.
    """

    west: Floats
    south: Floats
    east: Floats
    north: Floats
    area: StudyArea
    shapes: NDArray[np.object_] | None

    @classmethod
    def of_sides(
        cls, sides: Sequence[Floats], area: StudyArea, shapes: NDArray[np.object_] | None
    ) -> Regions:
        """Return regions from the western, southern, eastern and northern sides of their boxes."""
        west, south, east, north = (np.nan_to_num(side) for side in sides)
        return cls(west=west, south=south, east=east, north=north, area=area, shapes=shapes)

    def covers(
        self, region: NDArray[np.intp], longitude: Floats, latitude: Floats
    ) -> NDArray[np.bool_]:
        """Return a mask (n,) of the positions that lie in their regions' parts of the study area.

        `region` (n,) holds the index of each position's region.
        """
        inside = np.asarray(self.area.covers(longitude, latitude))
        if self.shapes is not None:
            inside &= shapely.intersects_xy(self.shapes[region], longitude, latitude)
        return inside

    def narrowed(self, region: NDArray[np.intp]) -> Regions:
        """Return the regions, some with their box shrunk to their part of the study area.

        `region` holds the indices of the regions whose boxes are shrunk.
        """
        chosen = np.unique(region)
        sides = np.array([self.west, self.south, self.east, self.north])
        parts = shapely.intersection(shapely.box(*sides[:, chosen]), self.area.shape)
        if self.shapes is not None:
            parts = shapely.intersection(parts, self.shapes[chosen])
        sides[:, chosen] = shapely.bounds(parts).T
        return self.of_sides(tuple(sides), self.area, self.shapes)


def places_in(
    regions: Regions, region: NDArray[np.intp], generator: np.random.Philox
) -> tuple[Floats, Floats]:
    """Return longitudes (n,) and latitudes (n,) drawn evenly in the regions `region` (n,).

    If no position is found for a point, because its region only touches the study area or is
    thinner than a centimetre, the point gets the position of the previous point.
    """
    longitude, latitude = np.zeros(region.size), np.zeros(region.size)
    missing = np.arange(region.size)
    for attempt in range(2 * TRIES):
        if not missing.size:
            break
        if attempt == TRIES:
            regions = regions.narrowed(region[missing])
        tried = _drawn(regions, region[missing], generator)
        covers = regions.covers(region[missing], *tried)
        longitude[missing[covers]], latitude[missing[covers]] = tried[0][covers], tried[1][covers]
        missing = missing[~covers]
    placed = np.ones(region.size, dtype=np.bool_)
    placed[missing] = False
    if not placed.any():
        return np.empty(0), np.empty(0)
    last = np.maximum.accumulate(np.where(placed, np.arange(region.size), np.argmax(placed)))
    return longitude[last], latitude[last]


def _drawn(
    regions: Regions, region: NDArray[np.intp], generator: np.random.Philox
) -> tuple[Floats, Floats]:
    """Draw positions (n,), evenly on the sphere, in the boxes of the regions `region` (n,)."""
    raw = generator.random_raw(2 * region.size).reshape(2, -1)
    across, up = (raw >> np.uint64(11)) * 2.0**-53
    west, east = regions.west[region], regions.east[region]
    low, high = (np.sin(np.radians(side[region])) for side in (regions.south, regions.north))
    longitude = west + across * (east - west)
    latitude = np.degrees(np.arcsin(low + up * (high - low)))
    return longitude.round(DECIMALS), latitude.round(DECIMALS)
