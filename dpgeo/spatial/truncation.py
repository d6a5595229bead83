"""Truncation of perturbed points to a study area.

A point in the area is not changed. Any other point is replaced by a point of a public grid. The
grid point is in the area, and close to that point of the area's outline that is nearest to the
perturbed point. The result depends on the perturbed point alone, so truncation is post-processing
and costs no privacy.
"""

from __future__ import annotations

import math

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.phrases import InvalidValue
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ground_grid import GroundGrid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES

Floats = NDArray[np.float64]

UNITS = 10_000_000
"""Number of units of stored coordinates in a degree; a unit is about a centimetre on the ground."""

REACH = 3
"""A point outside the area is replaced by a grid point within this many steps of the outline's
nearest point, if there is one.
"""


class Truncation:
    """Replaces points outside an area with points of a grid in the area.

    Raises ValueError if no grid point is in the area.
    """

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
        """The area to which points are truncated."""
        return self._area

    @property
    def step(self) -> int:
        """The step in metres of the grid whose points replace those outside the area."""
        # Converting to int loses nothing: the grids of published points have steps of whole metres.
        return int(self._grid.step)

    def apply(
        self, longitude: Floats, latitude: Floats
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Move each point outside the area to a grid point in it, close to the area's outline.

        The grid point is close to the point of the outline that is nearest to the given point. The
        points (n,) are in degrees. The points that are returned are in units of 1e-7 degrees.
        """
        # Longitudes that differ by 360 degrees are the same place, so the one closest to the area's
        # centre is used.
        longitude = longitude - 360 * np.rint((longitude - self._centre) / 360)
        longitude, latitude = longitude.round(7), latitude.round(7)
        outside = np.flatnonzero(~self._area.covers(longitude, latitude))
        if outside.size:
            mapped = self._beside(*self._nearest(longitude[outside], latitude[outside]))
            longitude[outside], latitude[outside] = mapped
        return _units(longitude), _units(latitude)

    def _flat(self, degrees: Floats) -> Floats:
        """Scale longitudes (n,) so that a unit is about as long on the ground as a unit of
        latitude.
        """
        return np.asarray(degrees * np.array([self._squeeze, 1.0]), dtype=np.float64)

    def _nearest(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """Return the point of the outline nearest to each position (n,) outside the area."""
        if self._area.is_box:
            west, south, east, north = self._area.bounds
            return np.clip(longitude, west, east), np.clip(latitude, south, north)
        points = shapely.points(self._flat(np.column_stack([longitude, latitude])))
        line = shapely.shortest_line(self._outline, points)
        nearest = shapely.get_coordinates(shapely.get_point(line, 0))
        return nearest[:, 0] / self._squeeze, nearest[:, 1]

    def _beside(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        """Return, for each position on the outline, a grid point in the area that is close to it.

        If there is none within REACH steps, the point of `_find_refuge` is used.
        """
        result_longitude = np.full(longitude.shape, self._refuge[0])
        result_latitude = np.full(latitude.shape, self._refuge[1])
        unresolved = np.arange(longitude.size)
        for east, north in self._offsets:
            candidates = self._snap(
                longitude[unresolved] + east / np.cos(np.radians(latitude[unresolved])),
                latitude[unresolved] + north,
            )
            inside = self._area.covers(*candidates)
            resolved = unresolved[inside]
            result_longitude[resolved], result_latitude[resolved] = (
                candidates[0][inside],
                candidates[1][inside],
            )
            unresolved = unresolved[~inside]
            if not unresolved.size:
                break
        return result_longitude, result_latitude

    def _snap(self, longitude: Floats, latitude: Floats) -> tuple[Floats, Floats]:
        snapped = self._grid.snap(np.radians(longitude), np.radians(latitude))
        east, north = np.degrees(snapped[0]), np.degrees(snapped[1])
        return (east - 360 * np.rint((east - self._centre) / 360)).round(7), north.round(7)

    def _find_refuge(self) -> tuple[float, float]:
        """Return a grid point in the area, for points that have none within REACH grid steps.

        Raises ValueError if no grid point is found in the area.
        """
        for part in shapely.get_parts(self._area.shape):
            inner = part.representative_point()
            for east, north in self._offsets:
                longitude = np.array([inner.x + east / math.cos(math.radians(inner.y))])
                candidate = self._snap(longitude, np.array([inner.y + north]))
                if self._area.covers(*candidate)[0]:
                    return float(candidate[0][0]), float(candidate[1][0])
        raise InvalidValue(
            "The study area is narrower than the {step} m grid that points are put on; choose "
            "a smaller radius.",
            step=self._grid.step,
        )


def _units(degrees: Floats) -> NDArray[np.int32]:
    return np.rint(degrees * UNITS).astype(np.int32)
