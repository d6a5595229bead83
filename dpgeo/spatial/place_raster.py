"""Raster that says which place is nearest to a position, for most positions.

The ground that is nearest to one of several places is convex in the projection in which nearness is
measured, and so is a cell. So if one place is nearest to the four corners of a cell, it is nearest
to every position in the cell. Cells are enlarged by a margin far above rounding errors before they
are compared. A cell with several nearest places is marked, unless all of these places are out of
reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, to_mercator
from dpgeo.spatial.zone_raster import MARKED, NEAR, OUTSIDE

CELLS = 512
"""Number of cells along each side of the raster."""

SPARE = 1.01
"""Factor by which distances are enlarged where a safe upper bound is enough."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaceRaster:
    """Raster that holds the nearest place of each cell, in `nearest` (rows, columns).

    An entry is the index of the place, `OUTSIDE` for cells out of reach of all places, or `MARKED`
    for cells with several nearest places. A position's column is the whole part of (longitude -
    low[0]) * scale[0], and its row, counted from the south, that of (latitude - low[1]) * scale[1].
    Positions outside the raster are out of reach.
    """

    low: NDArray[np.float64]
    scale: NDArray[np.float64]
    nearest: NDArray[np.int64]

    @classmethod
    def over(cls, near: NearPlaces) -> Self:
        """Make the raster for declared places, which have positions and a common reach."""
        beyond = SPARE * math.degrees(near.reach / EARTH_RADIUS_METRES)
        places = np.column_stack([near.places.longitude, near.places.latitude])
        widest = min(float(np.abs(places[:, 1]).max()) + beyond, 89.0)
        around = np.array([beyond / math.cos(math.radians(widest)), beyond])
        low = places.min(axis=0) - around
        scale = (CELLS - 4) / (places.max(axis=0) + around - low)
        low = low - 2 / scale
        at = near.places.positions
        nearest = _Nearest(low, scale, shapely.STRtree(shapely.points(at.x, at.y)))
        side = np.arange(CELLS + 1, dtype=np.float64)
        corner = nearest.place(*np.meshgrid(side, side))
        place = corner[:-1, :-1].copy()
        for other in (corner[1:, :-1], corner[:-1, 1:], corner[1:, 1:]):
            place[place != other] = MARKED
        row, column = np.nonzero(_has_other_neighbours(place) & (place != MARKED))
        for up in (-NEAR, 1 + NEAR):
            for across in (-NEAR, 1 + NEAR):
                other = nearest.place(column + across, row + up)
                place[row, column] = np.where(other == place[row, column], other, MARKED)
        row, column = np.nonzero(place == MARKED)
        most = near.locator().most
        place[row, column] = np.where(nearest.least_metres(column, row) > most, OUTSIDE, MARKED)
        return cls(low, scale, place)


@dataclass(frozen=True, slots=True, eq=False)
class _Nearest:
    """Finds the places nearest to positions (n,), which are columns and rows with fractions."""

    low: NDArray[np.float64]
    scale: NDArray[np.float64]
    tree: Any

    def place(self, across: NDArray[Any], up: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of the nearest place, or of the first of several that are equally
        near.
        """
        points = shapely.points(*self._metres(across, up)).ravel()
        position, place = self.tree.query_nearest(points, all_matches=True)
        order = np.lexsort((place, position))
        first = order[np.flatnonzero(np.diff(position[order], prepend=-1))]
        return np.asarray(place[first], dtype=np.int64).reshape(np.shape(across))

    def least_metres(self, column: NDArray[Any], row: NDArray[Any]) -> NDArray[np.float64]:
        """Return a lower bound on the distance from each cell to the place nearest to it.

        Distances are in metres of the projection in which nearness is measured.
        """
        x, y = self._metres(column + 0.5, row + 0.5)
        far_x, far_y = self._metres(column + 1.0, row + 1.0)
        near_x, near_y = self._metres(column, row)
        half = np.hypot(np.maximum(far_x - x, x - near_x), np.maximum(far_y - y, y - near_y))
        if not x.size:
            return np.zeros(0)
        (position, _), metres = self.tree.query_nearest(
            shapely.points(x, y), return_distance=True, all_matches=False
        )
        least = np.empty(len(x))
        least[position] = metres
        return np.asarray(least - SPARE * half)

    def _metres(self, across: NDArray[Any], up: NDArray[Any]) -> Any:
        return to_mercator(self.low[0] + across / self.scale[0], self.low[1] + up / self.scale[1])


def _has_other_neighbours(place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the cells with a neighbour whose nearest place is a different one.

    `place` (rows, columns) holds the nearest place of each cell.
    """
    framed = np.pad(place, 1, constant_values=MARKED)
    rows, columns = place.shape
    differs = np.zeros(place.shape, dtype=bool)
    for up in range(3):
        for across in range(3):
            differs |= framed[up : up + rows, across : across + columns] != place
    return differs
