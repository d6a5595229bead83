"""Interface of a private dataset, as mechanisms see it."""

from __future__ import annotations

from typing import Protocol

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.time_slices import SlicedGrid
from dpgeo.privacy.bounding import Popularity, Regions
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.privacy.positions import WHOLE, PrivatePositions, Shard
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones


class PrivateView(Protocol):
    """A dataset with at most `bound` contributions per privacy unit."""

    @property
    def domain(self) -> Domain:
        """The public study area, which contains all positions, and the named layers."""

    @property
    def unit(self) -> Unit:
        """The privacy unit."""

    @property
    def counting(self) -> Counting:
        """Whether a cell counts distinct people or visits."""

    @property
    def bound(self) -> int:
        """Contribution bound of a privacy unit.

        It limits the number of its cells where people are counted, of its records where visits are.
        """

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Count by cell, with the grid's shape and L1 sensitivity `bound`."""

    def sliced_histogram(self, sliced: SlicedGrid) -> PrivateCounts:
        """Count by slice and cell (s, rows, columns), L1 sensitivity `bound`.

        The contribution bound holds over all slices together.
        """

    def positions(
        self, *, time_step: int | None, attributes: bool = False, shard: Shard = WHOLE
    ) -> PrivatePositions:
        """Return at most `bound` reports of each privacy unit of a shard.

        Which reports are kept does not depend on where they are. Times are rounded down to
        multiples of `time_step` seconds, or left out if that is None. The domain's public
        attributes are included if `attributes` is true, and do not affect anything else. The shard
        of a privacy unit follows from its identifier, never from its reports' positions.
        """

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """Count by cell, for very fine grids; a cell's number is row * columns + column."""

    def visits(self, grid: Grid) -> PrivateVisits:
        """Return the cells, at most `bound` of each privacy unit, grouped by privacy unit."""

    def zone_counts(self, zones: Zones) -> PrivateCounts:
        """Count by zone (n,), with L1 sensitivity `bound` over all zones together.

        A record in several zones counts in each of them, up to the contribution bound.
        """

    def popularity(self, regions: Regions) -> PrivateCounts:
        """Count privacy units by region (n,), each at one of its places, chosen at random.

        The L1 sensitivity is 1.
        """

    def preferring(self, popularity: Popularity) -> PrivateView:
        """Return a view that keeps each person's places in the most popular regions."""
