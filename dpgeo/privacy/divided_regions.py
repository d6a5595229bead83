"""Divided regions: zones or squares in slices, for which the values of a measure are summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpgeo.core.categories import find_category
from dpgeo.core.domain import Domain
from dpgeo.core.slices import (
    UNDIVIDED,
    SlicedGrid,
    SlicedZones,
    SliceNames,
    Slicing,
    slicing,
)
from dpgeo.privacy.bounding import ValuedRegions
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones


@dataclass(frozen=True, slots=True, eq=False)
class DividedRegions:
    """Declared zones, or the squares of a grid, once for every slice.

    The regions depend on public declarations and parameters alone.
    """

    places: Grid | Zones
    slices: Slicing | None
    area: StudyArea

    @classmethod
    def of(cls, params: Any, domain: Domain) -> Self:
        """Return the regions that the parameters `zones`, `cells`, `slices` and `category` name.

        Raises InvalidInput for a layer, a category or times that the dataset lacks.
        """
        places: Grid | Zones = Grid.over(domain.area, params.cells)
        if params.zones:
            places = domain.layer(params.zones, Zones)
        chosen = find_category(domain.categories, params.category) if params.category else None
        return cls(places, slicing(params.slices, chosen, domain.time_zone), domain.area)

    @property
    def names(self) -> SliceNames:
        """The keys and titles of the slices."""
        return self.slices.names if self.slices else UNDIVIDED

    @property
    def valued(self) -> ValuedRegions:
        """The regions, with their slices, in the form that `PrivateView.value_shares` takes."""
        if self.slices is None:
            return self.places
        if isinstance(self.places, Zones):
            return SlicedZones(self.places, self.slices)
        return SlicedGrid(self.places, self.slices)

    @property
    def size(self) -> int:
        """Number of regions in all slices, including squares outside the study area."""
        places = len(self.places) if isinstance(self.places, Zones) else self.places.size
        return places * self._layers

    @property
    def size_in_area(self) -> int:
        """Number of regions that intersect the study area, added up over all slices."""
        if isinstance(self.places, Zones):
            return len(self.places) * self._layers
        return int(np.count_nonzero(self.places.inside(self.area))) * self._layers

    @property
    def _layers(self) -> int:
        return len(self.slices) if self.slices else 1

    @property
    def word(self) -> str:
        """The noun for a region in a forecast, such as "square"."""
        return "zone" if isinstance(self.places, Zones) else "cell"

    @property
    def ground_metres(self) -> float:
        """Side in metres, on the ground, of a cell or of a square as large as the smallest zone."""
        if isinstance(self.places, Zones):
            return self.places.smallest_side_metres
        return self.places.ground_cell_metres
