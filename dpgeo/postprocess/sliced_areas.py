"""Range answers over all slices of a release that measures every slice in phases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpgeo.postprocess.areas import Areas, Inferred, Shapes
from dpgeo.postprocess.surface_areas import SurfaceAreas


class SlicedAreas(Areas):
    """The inferred surfaces of several slices, added up.

    The noise of different slices is independent, so the half-widths for noise are combined as the
    root of the sum of their squares. How people are spread within an area may be the same at all
    times, so the half-widths for unevenness are simply added up.
    """

    def __init__(self, slices: Sequence[SurfaceAreas]) -> None:
        self._slices = slices

    def covers(self, regions: Shapes) -> list[Inferred]:
        """Return the sum over each query region of the inferred surfaces of all time slices."""
        found = zip(*(each.covers(regions) for each in self._slices), strict=True)
        return [
            Inferred(
                estimate=math.fsum(each.estimate for each in parts),
                noise=math.hypot(*(each.noise for each in parts)),
                model=math.fsum(each.model for each in parts),
                areas=sum(each.areas for each in parts),
                cut=sum(each.cut for each in parts),
            )
            for parts in found
        ]
