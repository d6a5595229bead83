"""Interface through which mechanisms access a private dataset."""

from __future__ import annotations

from typing import Protocol

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure
from dpgeo.core.slices import SlicedGrid, SlicedZones
from dpgeo.core.trip_paths import TripPaths
from dpgeo.core.trips import TripPairs
from dpgeo.privacy.bound_choice import PrivateContributions
from dpgeo.privacy.bounding import CountedRegions, Listed, Popularity, Regions, ValuedRegions
from dpgeo.privacy.counts import PrivateCounts, PrivateTotals
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.privacy.positions import PrivatePositions
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.trip_features import PrivateTripFeatures
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.spatial.grid import Grid


class PrivateView(Protocol):
    """A private dataset, of which at most `bound` contributions per privacy unit are counted."""

    @property
    def domain(self) -> Domain:
        """The public domain: its named layers, and the study area that contains all positions."""

    @property
    def unit(self) -> Unit:
        """The privacy unit: a person or a record."""

    @property
    def counting(self) -> Counting:
        """What a cell counts: distinct people, or visits."""

    @property
    def bound(self) -> int:
        """Contribution bound: the largest number of cells or records counted per privacy unit.

        The bound limits cells if distinct people are counted, and records if visits are counted.
        """

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Return the counts of the cells, in the grid's shape, with L1 sensitivity `bound`."""

    def sliced_histogram(self, sliced: SlicedGrid | SlicedZones) -> PrivateCounts:
        """Return counts (slices, rows, columns) or (slices, zones), with L1 sensitivity `bound`.

        The contribution bound applies to all slices together.
        """

    def positions(self, *, time_step: int | None, attributes: bool = False) -> PrivatePositions:
        """Return at most `bound` reports for each privacy unit.

        Which reports are kept does not depend on their positions. Times are rounded down to
        multiples of `time_step` seconds, or left out if it is None. If `attributes` is true,
        the domain's public attributes are included; this changes nothing else.
        """

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """Return counts by cell of a very fine grid; cells are numbered row * columns + column."""

    def visits(self, grid: Grid) -> PrivateVisits:
        """Return pairs of a privacy unit and a cell, at most `bound` per privacy unit."""

    def zone_counts(self, zones: Listed) -> PrivateCounts:
        """Return counts (n,) by zone or place, with L1 sensitivity `bound` over all n together.

        A record in several zones counts in each of them, up to the contribution bound.
        """

    def value_shares(self, regions: ValuedRegions, measure: Measure) -> PrivateShares:
        """Return the number of records and the sum of their values by region, for averages.

        The values of the measure are whole numbers of steps (`core.measures`).

        At most `bound` records with a value are kept for each privacy unit, over all regions
        together. If distinct people are counted, a person has one value in each of at most `bound`
        regions: the mean of their own values there, rounded to a step. The choice of records does
        not depend on their values, except among records that are otherwise equal.
        """

    def value_histogram(self, regions: ValuedRegions, measure: Measure, bins: int) -> PrivateCounts:
        """Return counts by region and by bin of the measure's range, (..., bins).

        The records that `value_shares` keeps are counted or, if distinct people are counted, each
        person's value in a region. Each adds 1 to one bin (`Measure.to_bins`) of one region, so the
        L1 sensitivity of all counts together is `bound`.
        """

    def trips(self, pairs: TripPairs) -> PrivateSparseCounts:
        """Return counts by pair of regions and slice, with L1 sensitivity `bound` over all pairs.

        If distinct people are counted, a person counts once in each of at most `bound` combinations
        of a pair and a slice; otherwise, at most `bound` trips of a person are counted. Which trips
        a person made follows from the person's own rows alone.
        """

    def trip_features(self, paths: TripPaths) -> PrivateTripFeatures:
        """Return counts of the features of at most `bound` trips of each privacy unit.

        `PrivateTripFeatures` describes the features. If distinct people are counted, a person has
        at most one trip with the same start and end.
        """

    def totals(self, regions: CountedRegions, *, sightings: int, visits: int) -> PrivateTotals:
        """Return totals over all regions: people, sightings and visits (see `privacy.totals`).

        Each person adds 1 to people, at most `sightings` to sightings and at most `visits` to
        visits. These limits apply instead of `bound`.
        """

    def contributions(self, regions: CountedRegions, most: int) -> PrivateContributions:
        """Return the number of people with each number of contributions to the regions, without a
        bound.

        People with more than `most` contributions are counted together.
        """

    def with_bound(self, bound: int) -> PrivateView:
        """Return a view of the same data with another contribution bound."""

    def popularity(self, regions: Regions) -> PrivateCounts:
        """Return the number (n,) of privacy units in each region, with L1 sensitivity 1.

        Each privacy unit is counted once, at one of its positions, chosen at random.
        """

    def preferring(self, popularity: Popularity) -> PrivateView:
        """Return a view that bounds contributions by popularity.

        For each person, that view keeps contributions to the regions that rank highest in
        `popularity`.
        """
