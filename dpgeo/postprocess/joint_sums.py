"""Totals and profiles of releases with an inferred surface, from all measurements.

A release in phases measures every part of the map several times. The sum of the inferred surface
uses all of these counts, so it has far less noise than the sum of the last phase's counts. This is
post-processing; see `postprocess.surface_areas` for the intervals.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import shapely

from dpgeo.core.released import Released
from dpgeo.postprocess.areas import Areas, Inferred, Shapes
from dpgeo.postprocess.layers import box_layers, make_inferred, select_slice
from dpgeo.postprocess.profiles import Profiles, placed, strip_edges
from dpgeo.postprocess.summary import Total
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.coverage import as_array
from dpgeo.spatial.grid import Grid


class JointSums:
    """Total and profiles of one release, from counts that were inferred from all measurements.

    If the release is divided into time slices, all of them are added up, or one is chosen.
    """

    def __init__(self, areas: Areas, grid: Grid, area: StudyArea) -> None:
        self._areas, self._grid, self._area = areas, grid, area

    @classmethod
    def of(cls, released: Released, layer: str = "") -> JointSums | None:
        """Prepare the sums of a release; None if it has no inferred counts (`make_inferred`).

        `layer` is the name of a time slice; if it is empty, all slices are added up.
        """
        area, content = released.area, released.content
        chosen = select_slice(content, layer) if layer else content
        areas = make_inferred(chosen, area)
        return cls(areas, box_layers(released)[0].grid, area) if areas else None

    def total(self) -> Total:
        """Return the sum over the study area; `Total.counts` is the number of measured regions in
        it.
        """
        [whole] = self._sums(as_array([self._area.shape]))
        return Total(value=round(whole.estimate), margin=whole.margin, counts=whole.areas)

    def profiles(self) -> Profiles:
        """Return the surface summed over strips, from west to east and from south to north."""
        grid = self._grid
        row, column = np.nonzero(grid.inside(self._area))
        rows, columns = (strip_edges(int(at.min()), int(at.max()) + 1) for at in (row, column))
        boxes = [[row.min(), row.max() + 1, left, right] for left, right in pairwise(columns)]
        boxes += [[top, bottom, column.min(), column.max() + 1] for top, bottom in pairwise(rows)]
        west, south, east, north = grid.box_bounds(np.array(boxes, dtype=np.int64)).T
        strips = as_array(list(shapely.box(west, south, east, north)))
        sums = self._sums(np.asarray(shapely.intersection(strips, self._area.shape)))
        value, margin = np.array([[each.estimate, each.margin] for each in sums]).T
        split = len(columns) - 1
        return Profiles(
            eastward=placed(grid, (columns, value[:split], margin[:split]), columns=True),
            northward=placed(grid, (rows, value[split:], margin[split:]), columns=False)[::-1],
        )

    def _sums(self, regions: Shapes) -> list[Inferred]:
        return [each for each in self._areas.covers(regions) if isinstance(each, Inferred)]
