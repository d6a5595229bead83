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
        """The public domain: the study area, which contains all positions, and its named layers."""

    @property
    def unit(self) -> Unit:
        """The privacy unit."""

    @property
    def counting(self) -> Counting:
        """What a cell counts: distinct people, or visits."""

    @property
    def bound(self) -> int:
        """Contribution bound: the most cells or records of a privacy unit that are counted.

        It bounds the number of cells if distinct people are counted, of records if visits are.
        """

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Count by cell; the counts have the grid's shape and the L1 sensitivity `bound`."""

    def sliced_histogram(self, sliced: SlicedGrid) -> PrivateCounts:
        """Count by time slice and cell, (s, rows, columns), with L1 sensitivity `bound`.

        The contribution bound applies to all slices together.
        """

    def positions(
        self, *, time_step: int | None, attributes: bool = False, shard: Shard = WHOLE
    ) -> PrivatePositions:
        """Return at most `bound` reports of each privacy unit of a shard.

        Which reports are kept does not depend on their positions. Times are rounded down to
        multiples of `time_step` seconds, or left out if it is None. If `attributes` is true, the
        domain's public attributes are included; this changes nothing else. The shard of a privacy
        unit follows from its identifier, never from its reports' positions.
        """

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """Count by cell, for very fine grids; the index of a cell is row * columns + column."""

    def visits(self, grid: Grid) -> PrivateVisits:
        """Return pairs of a privacy unit and a cell, at most `bound` for each privacy unit."""

    def zone_counts(self, zones: Zones) -> PrivateCounts:
        """Count by zone, (n,), with L1 sensitivity `bound` over all zones together.

        A record in several zones counts in each of them, up to the contribution bound.
        """

    def popularity(self, regions: Regions) -> PrivateCounts:
        """Return the number of privacy units in each region, shape (n,), with L1 sensitivity 1.

        Each privacy unit is counted once, at one of its places, chosen at random.
        """

    def preferring(self, popularity: Popularity) -> PrivateView:
        """Return a view whose bounding keeps each person's places in the most popular regions."""
