"""What a mechanism may ask of a private dataset."""

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
    """A dataset with contributions bounded to `bound` per unit; counts come out opaque."""

    @property
    def domain(self) -> Domain:
        """The public study area, outside which there is no position, and the layers named."""

    @property
    def unit(self) -> Unit:
        """Whose presence is hidden."""

    @property
    def counting(self) -> Counting:
        """Whether a cell counts distinct people or visits."""

    @property
    def bound(self) -> int:
        """The most cells (people) or records (visits) that one unit adds."""

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Counts per cell, of the grid's shape and L1 sensitivity `bound`."""

    def sliced_histogram(self, sliced: SlicedGrid) -> PrivateCounts:
        """Counts per slice and cell, of the shape (s, rows, columns) and L1 sensitivity `bound`.

        The bound holds over all slices together.
        """

    def positions(
        self, *, time_step: int | None, attributes: bool = False, shard: Shard = WHOLE
    ) -> PrivatePositions:
        """At most `bound` reports of each unit of a share, chosen without regard to where they are.

        Times are rounded down to so many seconds, or left out, and so are the domain's public
        `attributes`, on which nothing else depends. Which share a unit is in follows
        from who it is, never from where its reports are.
        """

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """The same counts of cells by number, row * columns + column, for very fine grids."""

    def visits(self, grid: Grid) -> PrivateVisits:
        """The same cells, at most `bound` of each unit, with whose they are kept apart."""

    def zone_counts(self, zones: Zones) -> PrivateCounts:
        """Counts per zone (n,), of L1 sensitivity `bound` over all zones together.

        What lies in several zones counts in each of them, as far as the bound allows.
        """

    def popularity(self, regions: Regions) -> PrivateCounts:
        """How many units' one place, chosen at random, lies in each region (n,): sensitivity 1."""

    def preferring(self, popularity: Popularity) -> PrivateView:
        """The same view, that keeps a person's most popular places first."""
