"""Made-up trips of a release, with a position in each square that they visit.

*Privacy argument.* The trips and their positions are a function of the released tables alone (see
`trip_model`), so they cost nothing, and anybody can make the same trips again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.released import Content, TripsRelease
from dpgeo.postprocess.even_places import Regions, places_in
from dpgeo.postprocess.trip_model import make_ways, trip_generator, trip_model_of_content
from dpgeo.spatial.area import StudyArea

MAX_TRIPS = 20_000
"""Largest number of made-up trips; where there are more real ones, each stands for several."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MadeUpTrips:
    """Trips as positions in degrees: trip i has those from `start[i]` to before `start[i + 1]`.

    `stands_for` is the estimated number of real trips for each made-up one.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    start: NDArray[np.int64]
    stands_for: float

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def trip(self) -> NDArray[np.int64]:
        """The number (m,) of each position's trip, counted from 0."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def lines(self) -> NDArray[np.object_]:
        """Return each trip as a shapely LineString in degrees."""
        position = np.column_stack([self.longitude, self.latitude])
        if not len(self):
            return np.empty(0, dtype=object)
        lines: NDArray[np.object_] = shapely.linestrings(position, indices=self.trip)
        return lines


@singledispatch
def read_trips(content: Content, area: StudyArea) -> MadeUpTrips | None:
    """Return all made-up trips of a release, or None for content without trips."""
    return None


@read_trips.register
def _trips(content: TripsRelease, area: StudyArea) -> MadeUpTrips:
    return made_up_trips(content, area, MAX_TRIPS)


@singledispatch
def makes_trips(content: Content) -> bool:
    """Return whether trips can be made up from a release's content."""
    return False


@makes_trips.register
def _makes_trips(content: TripsRelease) -> bool:
    return True


def made_up_trips(content: TripsRelease, area: StudyArea, most: int) -> MadeUpTrips:
    """Draw as many trips as the release estimates, but at most `most`.

    Repeated calls return the same trips; a call with another `most` may return other trips.
    """
    model, bits = trip_model_of_content(content, area), trip_generator(content)
    number = min(most, round(model.total))
    ways = make_ways(model, number, np.random.Generator(bits))
    row, column = np.divmod(ways.cell, content.grid.columns)
    sides = content.grid.box_bounds(np.column_stack([row, row + 1, column, column + 1])).T
    west, south, east, north = area.bounds
    clipped = [
        np.clip(side, low, high)
        for side, low, high in zip(
            sides, (west, south, west, south), (east, north, east, north), strict=True
        )
    ]
    longitude, latitude = places_in(
        Regions.of_sides(clipped, area, None), np.arange(ways.cell.size), bits
    )
    return MadeUpTrips(
        longitude=longitude,
        latitude=latitude,
        start=ways.start,
        stands_for=model.total / number if number else 0.0,
    )
