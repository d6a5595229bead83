"""Assignment of positions to the nearest declared place within reach, by public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from dpgeo.spatial.centres import Centres, ground_metres
from dpgeo.spatial.place_keys import number_of_key
from dpgeo.spatial.places import Places
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, ground_scale

SLACK = 1.001
"""Places are searched for within the reach times this factor, so that none is missed.

The exact distance on the ground is checked afterwards.
"""


@dataclass(frozen=True, slots=True)
class NearPlaces:
    """Declared places; each place's region is the ground nearest to it, within `reach` metres.

    The regions of the places are disjoint. The place to which a position belongs depends on the
    position and the places alone. With `by_key`, a row belongs instead to the place whose key it
    names, wherever its position is. Two objects are equal if they have the same reach, the same
    `by_key` and the same places.
    """

    places: Places
    reach: int
    by_key: bool = False

    def __len__(self) -> int:
        return len(self.places)

    def locator(self) -> NearLocator:
        """Return a locator, prepared once, that finds the nearest places of many positions."""
        return NearLocator(self)

    def find_keys(self, numbers: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the indices (m,) of the keys that belong to places, ascending, and these places.

        `numbers` (n,) stand for keys (`spatial.place_keys`). Of several places whose keys have the
        same number, the first is taken.
        """
        listed = np.array(list(map(number_of_key, self.places.keys)), dtype=np.uint64)
        known, first = np.unique(listed, return_index=True)
        at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        row = np.flatnonzero(known[at] == numbers)
        return row, first[at[row]].astype(np.int64)


class NearLocator:
    """Finds the place nearest to each position in Web Mercator, if it is within reach.

    If several places are equally near, the first is taken.
    """

    most_near = 1

    def __init__(self, near: NearPlaces) -> None:
        self._at = near.places.positions
        self._reach = near.reach
        self._tree = shapely.STRtree(shapely.points(self._at.x, self._at.y))
        # `beyond` bounds the difference in latitude, in degrees, between a position and a place
        # within reach.
        beyond = math.degrees(near.reach / EARTH_RADIUS_METRES)
        latitude = float(np.abs(near.places.latitude).max()) + beyond
        self.most = SLACK * near.reach / ground_scale(min(latitude, 89.0))
        """Upper bound on the distance, in Mercator metres, of a place within reach from a position.
        """

    def locate(
        self, longitude: ArrayLike, latitude: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions that have a place within reach, and the place of each, (m,) each.

        Positions (n,) are in degrees. The first array holds the indices of positions, ascending,
        the second the indices of places.
        """
        at = Centres.from_degrees(longitude, latitude)
        return self.locate_projected(at.x, at.y)

    def locate_projected(
        self, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions that have a place within reach, and the place of each, as `locate`.

        Positions (n,) are in Web Mercator metres.
        """
        at = Centres(x, y)
        points = shapely.points(at.x, at.y)
        position, place = self._tree.query_nearest(points, max_distance=self.most, all_matches=True)
        order = np.lexsort((place, position))
        position, place = position[order], place[order]
        first = np.flatnonzero(np.diff(position, prepend=-1))
        position, place = position[first], place[first]
        metres = ground_metres(
            Centres(at.x[position], at.y[position]), Centres(self._at.x[place], self._at.y[place])
        )
        near = metres <= self._reach
        return position[near].astype(np.int64), place[near].astype(np.int64)
