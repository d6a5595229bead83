"""Covers of query regions by places, which are points and so lie wholly inside or outside."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise
from dpgeo.postprocess.areas import Areas, Cover, Parts, Shapes, check_work, covers_of
from dpgeo.spatial.prepared import prepared_copies

MAX_TESTED_PAIRS = 40_000_000
"""Limit on the work of testing which places lie in a request's outlines, in vertices.

An outline's vertices count once for each place within its bounding box.
"""


class PointAreas(Areas):
    """Places with one noisy count each; a place is in a region if the place's position is."""

    once = True

    def __init__(
        self,
        longitude: NDArray[np.float64],
        latitude: NDArray[np.float64],
        counts: NDArray[np.int64],
        noise: CountNoise,
    ) -> None:
        self._counts, self._noise = counts, noise
        self._tree = shapely.STRtree(shapely.points(longitude, latitude))

    def covers(self, regions: Shapes) -> list[Cover]:
        """Return the places in each region, including places on its edge."""
        near = self._tree.query(regions)[0]
        check_work(int(shapely.get_num_coordinates(regions)[near].sum()), MAX_TESTED_PAIRS)
        region, place = self._tree.query(prepared_copies(regions), predicate="intersects")
        size = len(regions)
        nothing = np.empty(0, dtype=np.int64)
        return covers_of(
            [self._noise],
            np.bincount(region, self._counts[place], minlength=size),
            np.bincount(region, minlength=size)[:, None],
            Parts(region=nothing, value=nothing, noise=nothing, share=np.empty(0)),
        )
