"""Trips: which movements between public regions a map of flows counts.

A trip leads from the region of a row's position to the region of its destination, which is given in
the same row or is the position of the same person's next row.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpgeo.core.slices import Slicing
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, slots=True)
class TripPairs:
    """Pairs of an origin and a destination among disjoint public regions, in slices.

    Pairs are numbered slice by slice, and in each by origin, then destination. If `gap_hours` is 0,
    a row with a destination is a trip. Otherwise, two rows of a person that follow each other in
    time, at most that many hours apart, make a trip from the first to the second. Trips that stay
    in a region are left out unless `within` is true. A trip belongs to the slice of the row in
    which it begins; if `slices` is None, trips are not divided into slices.
    """

    regions: Grid | Zones
    gap_hours: int = 0
    within: bool = False
    slices: Slicing | None = None

    @property
    def size_of_regions(self) -> int:
        """Number of regions; on a grid, this includes cells outside the study area."""
        return len(self.regions) if isinstance(self.regions, Zones) else self.regions.size

    @property
    def size(self) -> int:
        """Number of pairs of regions, added up over all slices."""
        return (len(self.slices) if self.slices else 1) * self.size_of_regions**2
