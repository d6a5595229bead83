"""A private view of a public array of counts, for benchmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure
from dpgeo.core.slices import SlicedGrid, SlicedZones
from dpgeo.core.trip_paths import TripPaths
from dpgeo.core.trips import TripPairs
from dpgeo.privacy.bound_choice import PrivateContributions
from dpgeo.privacy.bounding import CountedRegions, Popularity, Regions, ValuedRegions
from dpgeo.privacy.counts import PrivateCounts, PrivateTotals
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.privacy.positions import PrivatePositions
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.trip_features import PrivateTripFeatures
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.projection import to_degrees
from dpgeo.spatial.zones import Zones

AREA = StudyArea.from_bounds(0.0, -0.45, 0.9, 0.45)
"""Study area of the arrays: nearly a square in Web Mercator.

A grid of square cells over it therefore has no cell outside the area.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountsView:
    """A `PrivateView` of counts (cells, cells) over AREA, in which each record is a privacy unit.

    A histogram over a grid of the same size has exactly these counts. In any other grid, each count
    is added to the grid cell that contains the centre of the count's own cell.
    """

    counts: NDArray[np.int64]
    area: StudyArea = AREA
    unit: Unit = Unit.RECORD
    counting: Counting = Counting.VISITS
    bound: int = 1

    @property
    def domain(self) -> Domain:
        """The public domain: the study area alone, without public layers."""
        return Domain(self.area)

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Return counts per cell of the grid, with L1 sensitivity 1."""
        totals = np.zeros(grid.size, dtype=np.int64)
        np.add.at(totals, self._cells(grid), self.counts.ravel())
        return PrivateCounts(totals.reshape(grid.shape), sensitivity=1)

    def sliced_histogram(self, sliced: SlicedGrid | SlicedZones) -> PrivateCounts:
        """Raise TypeError, because the counts have no times."""
        raise TypeError("There are counts of cells here, and no times.")

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """Return the same counts as `histogram`, only for cells that are not empty."""
        occupied = np.flatnonzero(self.counts)
        cells, place = np.unique(self._cells(grid)[occupied], return_inverse=True)
        totals = np.zeros(cells.size, dtype=np.int64)
        np.add.at(totals, place, self.counts.ravel()[occupied])
        return PrivateSparseCounts(cells, totals, size=grid.size, sensitivity=1)

    def visits(self, grid: Grid) -> PrivateVisits:
        """Return all records, each as a visit by a different person."""
        cells = np.repeat(self._cells(grid), self.counts.ravel())
        cells = cells[cells >= 0]
        return PrivateVisits(np.arange(cells.size), cells, size=grid.size, sensitivity=1)

    def zone_counts(self, zones: Zones | NearPlaces) -> PrivateCounts:
        """Return the counts of zones; a record in several zones counts only in the first."""
        own = Grid.over(self.area, self.counts.shape[0])
        columns, rows = np.meshgrid(np.arange(own.columns) + 0.5, np.arange(own.rows) + 0.5)
        centres = to_degrees(own.west + columns * own.cell, own.north - rows * own.cell)
        place, zone = zones.locator().locate(centres[0].ravel(), centres[1].ravel())
        first = np.flatnonzero(np.r_[True, place[1:] != place[:-1]][: place.size])
        totals = np.zeros(len(zones), dtype=np.int64)
        np.add.at(totals, zone[first], self.counts.ravel()[place[first]])
        return PrivateCounts(totals, sensitivity=1)

    def value_shares(self, regions: ValuedRegions, measure: Measure) -> PrivateShares:
        """Raise TypeError, because records have a position only, and no measured value."""
        raise TypeError("There are counts of cells here, and no values.")

    def value_histogram(self, regions: ValuedRegions, measure: Measure, bins: int) -> PrivateCounts:
        """Raise TypeError, because records have a position only, and no measured value."""
        raise TypeError("There are counts of cells here, and no values.")

    def trips(self, pairs: TripPairs) -> PrivateSparseCounts:
        """Raise TypeError: counts of cells contain no trips."""
        raise TypeError("There are counts of cells here, and no trips.")

    def trip_features(self, paths: TripPaths) -> PrivateTripFeatures:
        """Raise TypeError: counts of cells contain no trips."""
        raise TypeError("There are counts of cells here, and no trips.")

    def totals(self, regions: CountedRegions, *, sightings: int, visits: int) -> PrivateTotals:
        """Raise TypeError: with one place per person, people, sightings and visits are the same."""
        raise TypeError("Each record is a privacy unit here, and none has more than one place.")

    def contributions(self, regions: CountedRegions, most: int) -> PrivateContributions:
        """Raise TypeError: each record is a privacy unit, so nobody has several contributions."""
        raise TypeError("Each record is a privacy unit here, and none has more than one place.")

    def with_bound(self, bound: int) -> CountsView:
        """Return this view unchanged: each record has only one place, which any bound keeps."""
        return self

    def popularity(self, regions: Regions) -> PrivateCounts:
        """Return the counts of the regions, to which each record contributes at most once."""
        if isinstance(regions, Zones | NearPlaces):
            return self.zone_counts(regions)
        return self.histogram(regions).flat()

    def preferring(self, popularity: Popularity) -> CountsView:
        """Return this view unchanged: each record has only one place, so there is nothing to
        choose.
        """
        return self

    def positions(self, *, time_step: int | None, attributes: bool = False) -> PrivatePositions:
        """Raise TypeError, because the counts have no positions."""
        raise TypeError("There are counts of cells here, and no positions.")

    def _cells(self, grid: Grid) -> NDArray[np.int64]:
        """Return, for each count, the index (n,) of the grid cell that contains its centre."""
        own = Grid.over(self.area, self.counts.shape[0])
        x = own.west + (np.arange(own.columns) + 0.5) * own.cell
        y = own.north - (np.arange(own.rows) + 0.5) * own.cell
        return grid.locate(x[None, :], y[:, None]).ravel()


def coarsened(array: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """Return the sums (cells, cells) of a square array over square blocks.

    Raises ValueError if the array is not square or `cells` does not divide its side.
    """
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] % cells:
        raise ValueError(
            f"An array of shape {array.shape} cannot be summed to {cells} x {cells} cells; choose "
            "a number of cells that divides its side."
        )
    side = array.shape[0] // cells
    blocks = array.reshape(cells, side, cells, side).sum(axis=(1, 3))
    return np.asarray(blocks, dtype=np.int64)


def drawn(array: NDArray[Any], scale: int) -> NDArray[np.int64]:
    """Return the counts of `scale` records, distributed in proportion to the array.

    The counts come from one multinomial draw (DPBench), which is the same in every run.
    """
    if not math.isfinite(array.sum()) or array.min() < 0 or array.sum() == 0:
        raise ValueError("The array must hold counts: no negatives, and not only zeros.")
    chances = array / array.sum()
    # The figures in the documentation were computed with this generator and seed.
    draw = np.random.RandomState(1).multinomial(scale, chances.ravel())
    return np.asarray(draw.reshape(array.shape), dtype=np.int64)
