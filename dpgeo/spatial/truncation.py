"""Points brought into a study area by a map that looks at nothing but the point.

A point in the area stays. Any other goes to a point of the public grid in the area, next to where
the area's outline is nearest. Neither where the point came from nor any other point matters: the
map is public, so bringing the output of a private mechanism into the area costs nothing.
"""

from __future__ import annotations

import math

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ground_grid import GroundGrid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES

Floats = NDArray[np.float64]

UNITS = 10_000_000
"""Whole units in a degree: outputs are kept to a centimetre, as files have them."""

REACH = 3
"""Steps around the nearest place of the outline in which a point of the grid is looked for."""


class Truncation:
    """The map for one area and grid. Raises ValueError where no point of the grid lies in it."""

    def __init__(self, area: StudyArea, grid: GroundGrid) -> None:
        self._area, self._grid = area, grid
        west, south, east, north = area.bounds
        self._centre = (west + east) / 2
        self._squeeze = math.cos(math.radians((south + north) / 2))
        self._outline = shapely.transform(area.shape.boundary, self._flat)
        around = np.arange(-REACH, REACH + 1)
        offsets = np.array([(column, row) for row in around for column in around])
        nearest_first = np.argsort((offsets**2).sum(axis=1), kind="stable")
        self._offsets = np.degrees(offsets[nearest_first] * grid.step / EARTH_RADIUS_METRES)
        self._refuge = self._find_refuge()

    @property
    def area(self) -> StudyArea:
        """Into which points are brought."""
        return self._area

    @property
    def step(self) -> int:
        """Of the grid, in metres."""
        return self._grid.step

    def apply(
        self, longitude: Floats, latitude: Floats
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Points of the grid in degrees (n,) to points in the area, in units of 1e-7 degrees."""
        # The same meridian has two names at the antimeridian: take the one nearer to the area.
        longitude = longitude - 360 * np.rint((longitude - self._centre) / 360)
        longitude, latitude = longitude.round(7), latitude.round(7)
        outside = np.flatnonzero(~self._area.covers(longitude, latitude))
        if outside.size:
            moved = self._beside(*self._nearest(longitude[outside], latitude[outside]))
            longitude[outside], latitude[outside] = moved
        return _units(longitude), _units(latitude)

    def _flat(self, degrees: Floats) -> Floats:
        """Degrees to degrees of about the same length in both directions."""
        return np.asarray(degrees * np.array([self._squeeze, 1.0]), dtype=np.float64)

    def _nearest(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """Where the area is nearest to points outside it."""
        if self._area.is_box:
            west, south, east, north = self._area.bounds
            return np.clip(longitude, west, east), np.clip(latitude, south, north)
        points = shapely.points(self._flat(np.column_stack([longitude, latitude])))
        line = shapely.shortest_line(self._outline, points)
        found = shapely.get_coordinates(shapely.get_point(line, 0))
        return found[:, 0] / self._squeeze, found[:, 1]

    def _beside(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """Points of the grid in the area, as near to these places as may be."""
        found_longitude = np.full(longitude.shape, self._refuge[0])
        found_latitude = np.full(latitude.shape, self._refuge[1])
        waiting = np.arange(longitude.size)
        for east, north in self._offsets:
            tried = self._snap(
                longitude[waiting] + east / np.cos(np.radians(latitude[waiting])),
                latitude[waiting] + north,
            )
            inside = self._area.covers(*tried)
            settled = waiting[inside]
            found_longitude[settled], found_latitude[settled] = tried[0][inside], tried[1][inside]
            waiting = waiting[~inside]
            if not waiting.size:
                break
        return found_longitude, found_latitude

    def _snap(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        snapped = self._grid.snap(np.radians(longitude), np.radians(latitude))
        east, north = np.degrees(snapped[0]), np.degrees(snapped[1])
        return (east - 360 * np.rint((east - self._centre) / 360)).round(7), north.round(7)

    def _find_refuge(self) -> tuple[float, float]:
        """Some point of the grid in the area, for slivers that have none nearby."""
        for part in shapely.get_parts(self._area.shape):
            inner = part.representative_point()
            for east, north in self._offsets:
                longitude = np.array([inner.x + east / math.cos(math.radians(inner.y))])
                tried = self._snap(longitude, np.array([inner.y + north]))
                if self._area.covers(*tried)[0]:
                    return float(tried[0][0]), float(tried[1][0])
        raise ValueError(
            Phrase(
                "The study area is narrower than the {step} m grid that points are put on; choose "
                "a smaller radius.",
                step=self._grid.step,
            )
        )


def _units(degrees: Floats) -> NDArray[np.int32]:
    return np.rint(degrees * UNITS).astype(np.int32)
