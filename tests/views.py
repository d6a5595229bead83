"""A dataset held in arrays, as mechanisms see private data; for tests without an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpgeo.core.attributes import Attribute
from dpgeo.core.categories import Category
from dpgeo.core.domain import Domain, PublicLayer
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.core.trip_paths import SECONDS_A_MINUTE, TripPaths
from dpgeo.core.trips import SECONDS_AN_HOUR, TripPairs
from dpgeo.privacy.bound_choice import PrivateContributions
from dpgeo.privacy.bounding import Listed, Popularity, Regions, ValuedRegions
from dpgeo.privacy.counts import PrivateCounts, PrivateTotals
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.privacy.positions import PrivatePositions, Reports, round_times
from dpgeo.privacy.sparse import PrivateSparseCounts, summed
from dpgeo.privacy.trip_features import OrderedRows, PrivateTripFeatures, TripFeatures
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.place_keys import number_of_key
from dpgeo.spatial.projection import to_mercator
from dpgeo.spatial.zones import Zones


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayView:
    """Positions in degrees and, if the privacy unit is a person, the person of each position.

    If a person has more than `bound` cells (counting people) or records (counting visits), those
    with the smallest salted hashes are kept. So removing a person changes nothing for anybody else.
    """

    area: StudyArea
    longitude: ArrayLike = ()
    latitude: ArrayLike = ()
    persons: ArrayLike | None = None
    hours: ArrayLike = ()
    """The hour of the week of each record, counted from Monday 0:00; every record has a time."""
    unit: Unit = Unit.PERSON
    counting: Counting = Counting.VISITS
    bound: int = 1
    salt: int = 1
    declared: Mapping[str, PublicLayer] = field(default_factory=dict)
    preferred: Popularity | None = None
    attributes: tuple[Attribute, ...] = ()
    combination: ArrayLike = ()
    measures: tuple[Measure, ...] = ()
    values: ArrayLike = ()
    """The value of each record, used for every measure; NaN for a record without a value."""
    categories: tuple[Category, ...] = ()
    codes: ArrayLike = ()
    """For each record, the index of its value (its code), the same in every category."""

    place_keys: tuple[str, ...] = ()
    """For each record, the key of the place that it names."""

    destinations: tuple[ArrayLike, ArrayLike] | None = None
    """Longitudes and latitudes of where each record's trip ends, NaN for none."""

    @property
    def domain(self) -> Domain:
        """The public study area, its declared layers and columns."""
        return Domain(
            self.area,
            self.declared,
            "UTC",
            self.attributes,
            self.measures,
            self.categories,
            destinations=self.destinations is not None,
            place_keys=bool(self.place_keys),
        )

    def __post_init__(self) -> None:
        assert self.unit is Unit.PERSON or self.bound == 1, "A record adds one record."
        assert self.unit is Unit.RECORD or self.persons is not None or not np.size(self.longitude)

    @property
    def _distinct(self) -> bool:
        return self.unit is Unit.PERSON and self.counting is Counting.PEOPLE

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Return the counts of cells in the grid's shape, with L1 sensitivity `bound`."""
        counts = np.bincount(self._cells(grid), minlength=grid.size).reshape(grid.shape)
        return PrivateCounts(counts, sensitivity=self.bound, distinct=self._distinct)

    def sliced_histogram(self, sliced: SlicedGrid | SlicedZones) -> PrivateCounts:
        """Return the count of each region in each slice, with L1 sensitivity `bound` over all."""
        size = int(np.prod(sliced.shape))
        counts = np.bincount(self._cells(sliced), minlength=size).reshape(sliced.shape)
        return PrivateCounts(counts, sensitivity=self.bound, distinct=self._distinct)

    def positions(self, *, time_step: int | None, attributes: bool = False) -> PrivatePositions:
        """Return at most `bound` reports of each privacy unit, chosen by salted hashes."""
        lon = np.asarray(self.longitude, dtype=np.float64)
        lat = np.asarray(self.latitude, dtype=np.float64)
        chosen = np.flatnonzero(self.area.covers(lon, lat))
        if self.unit is Unit.PERSON and chosen.size:
            persons = np.asarray(self.persons, dtype=np.int64)[chosen]
            number = _ranks(persons, np.arange(persons.size))
            rank = _ranks(persons, _hash(self.salt, persons, number))
            chosen = chosen[rank < self.bound]
        units = chosen
        if self.unit is Unit.PERSON and chosen.size:
            units = np.asarray(self.persons, dtype=np.int64)[chosen]
        people = np.unique(units).size
        time = round_times(chosen * 1000, time_step)
        numbers = np.asarray(self.combination, dtype=np.int32)[chosen] if attributes else None
        return PrivatePositions(
            lambda: iter([Reports(lon[chosen], lat[chosen], time, numbers)]),
            sensitivity=self.bound,
            missing=lambda: people * self.bound - chosen.size,
        )

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """Return the counts of all cells that are not empty."""
        cells, counts = np.unique(self._cells(grid), return_counts=True)
        return PrivateSparseCounts(
            cells, counts, size=grid.size, sensitivity=self.bound, distinct=self._distinct
        )

    def visits(self, grid: Grid) -> PrivateVisits:
        """Return pairs of a person, renumbered from 0, and a cell in which the person counts."""
        persons, cells = self._kept(grid)
        _, persons = np.unique(persons, return_inverse=True)
        return PrivateVisits(persons, cells, size=grid.size, sensitivity=self.bound)

    def zone_counts(self, zones: Listed) -> PrivateCounts:
        """Return the counts of zones or places, with L1 sensitivity `bound` over all of them."""
        counts = np.bincount(self._cells(zones), minlength=len(zones))
        return PrivateCounts(counts, sensitivity=self.bound, distinct=self._distinct)

    def value_shares(self, regions: ValuedRegions, measure: Measure) -> PrivateShares:
        """Return the number of records in each region, and the sum of their values there.

        Values are in steps from 0 to `measure.steps`. At most `bound` records of each privacy unit
        are counted, over all regions.
        """
        cells, steps = self._valued(regions, measure)
        shape = (len(regions),) if isinstance(regions, Listed) else regions.shape
        numbers = np.bincount(cells, minlength=int(np.prod(shape)))
        sums = np.bincount(cells, steps, minlength=int(np.prod(shape)))
        return PrivateShares(
            numbers.reshape(shape),
            sums.astype(np.int64).reshape(shape),
            steps=measure.steps,
            bound=self.bound,
            distinct=self._distinct,
        )

    def value_histogram(self, regions: ValuedRegions, measure: Measure, bins: int) -> PrivateCounts:
        """Count the records of `value_shares` by region and bin (a part of the values' range)."""
        cells, steps = self._valued(regions, measure)
        shape = (len(regions),) if isinstance(regions, Listed) else regions.shape
        binned = cells * bins + measure.to_bins(steps, bins)
        counts = np.bincount(binned, minlength=int(np.prod(shape)) * bins)
        return PrivateCounts(
            counts.reshape(*shape, bins), sensitivity=self.bound, distinct=self._distinct
        )

    def _valued(
        self, regions: ValuedRegions, measure: Measure
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the region of each counted value, and the value as a step of `measure`, from 0."""
        lon = np.asarray(self.longitude, dtype=np.float64)
        lat = np.asarray(self.latitude, dtype=np.float64)
        values = np.asarray(self.values, dtype=np.float64)
        counted = np.flatnonzero(self.area.covers(lon, lat) & np.isfinite(values))
        lon, lat, steps = lon[counted], lat[counted], measure.to_steps(values[counted])
        place, cells = self._located(regions, lon, lat, counted)
        persons = counted[place]
        if self.unit is Unit.PERSON and counted.size:
            persons = np.asarray(self.persons, dtype=np.int64)[persons]
        who = persons if self.unit is Unit.PERSON else np.zeros_like(persons)
        steps = steps[place].astype(np.int64)
        if self.counting is Counting.PEOPLE and cells.size:
            (persons, cells), which, rows = np.unique(
                np.stack([persons, cells]), axis=1, return_inverse=True, return_counts=True
            )
            steps = (2 * np.bincount(which.ravel(), steps).astype(np.int64) + rows) // (2 * rows)
            key = _hash(self.salt, persons, cells)
        else:
            x, y = (side[place].view(np.int64) for side in (lon, lat))
            hours = np.asarray(self.hours, dtype=np.int64)
            times = [hours[counted][place]] if hours.size else []
            key = _hash(self.salt, who, x, y, *times, cells)
        order = np.lexsort((steps, key, persons))
        persons, cells, steps = persons[order], cells[order], steps[order]
        chosen = _ranks(persons, np.arange(persons.size)) < self.bound
        return cells[chosen], steps[chosen].astype(np.int64)

    def trips(self, pairs: TripPairs) -> PrivateSparseCounts:
        """Return the counts of trips by pair of regions.

        If `pairs.gap_hours` is above 0, a trip leads from a person's record to the same person's
        next one, in the order of hours. Otherwise it leads to the record's destination.
        """
        lon, lat = (np.asarray(each, dtype=np.float64) for each in (self.longitude, self.latitude))
        hours = np.asarray(self.hours, dtype=np.int64)
        hours = hours if hours.size else np.zeros(lon.size, dtype=np.int64)
        persons = np.arange(lon.size)
        if self.persons is not None:
            persons = np.asarray(self.persons, dtype=np.int64)
        start = np.flatnonzero(self.area.covers(lon, lat))
        if pairs.gap_hours:
            codes = np.asarray(self.codes, dtype=np.int64)
            ties = [codes[start]] if codes.size else []
            order = start[np.lexsort((*ties, lat[start], lon[start], hours[start], persons[start]))]
            start, end = order[:-1], order[1:]
            own = persons[start] == persons[end]
            follows = own & (hours[end] - hours[start] <= pairs.gap_hours)
            start, to_lon, to_lat = start[follows], lon[end[follows]], lat[end[follows]]
        else:
            there = self.destinations or (np.full(lon.size, np.nan),) * 2
            to_lon, to_lat = (np.asarray(each, dtype=np.float64)[start] for each in there)
            known = np.isfinite(to_lon)
            known[known] = self.area.covers(to_lon[known], to_lat[known])
            start, to_lon, to_lat = start[known], to_lon[known], to_lat[known]
        origin = _region(pairs.regions, lon[start], lat[start])
        destination = _region(pairs.regions, to_lon, to_lat)
        kept = (origin >= 0) & (destination >= 0)
        kept &= np.full(kept.size, pairs.within) | (origin != destination)
        number = np.zeros(start.size, dtype=np.int64)
        if pairs.slices:
            number = self._slice(pairs.slices, start)
        n = pairs.size_of_regions
        cells, who = ((number * n + origin) * n + destination)[kept], persons[start][kept]
        if self.unit is Unit.PERSON and cells.size:
            ends = (lon[start], lat[start], to_lon, to_lat)
            content = [each[kept].view(np.int64) for each in ends]
            key = _hash(self.salt, who, *content, hours[start][kept], cells)
            if self.counting is Counting.PEOPLE:
                who, cells = np.unique(np.stack([who, cells]), axis=1)
                key = _hash(self.salt, who, cells)
            chosen = _ranks(who, key) < self.bound
            cells = cells[chosen]
        return summed(
            cells,
            np.ones_like(cells),
            size=pairs.size,
            sensitivity=self.bound,
            distinct=self._distinct,
        )

    def trip_features(self, paths: TripPaths) -> PrivateTripFeatures:
        """Count the features of trips: their ends, moves and lengths (`privacy.trip_features`).

        If trips are made of consecutive records, the records are ordered by their hours.
        """
        lon, lat = (np.asarray(each, dtype=np.float64) for each in (self.longitude, self.latitude))
        hours = np.asarray(self.hours, dtype=np.int64)
        hours = hours if hours.size else np.zeros(lon.size, dtype=np.int64)
        persons = np.arange(lon.size)
        if self.persons is not None:
            persons = np.asarray(self.persons, dtype=np.int64)
        start = np.flatnonzero(self.area.covers(lon, lat))
        start = start[np.lexsort((lat[start], lon[start], hours[start], persons[start]))]
        ends: tuple[NDArray[np.float64], ...] = ()
        if not paths.gap_minutes:
            there = self.destinations or (np.full(lon.size, np.nan),) * 2
            to = [np.asarray(each, dtype=np.float64)[start] for each in there]
            known = np.isfinite(to[0])
            known[known] = self.area.covers(to[0][known], to[1][known])
            start, ends = start[known], (to[0][known], to[1][known])
        unit = persons[start]
        cell = paths.grid.locate(*to_mercator(lon[start], lat[start]))
        content = [each.view(np.int64) for each in (lon[start], lat[start], *ends)]
        key = _hash(self.salt, unit, hours[start], *content)
        if ends:
            trip = np.repeat(np.arange(start.size), 2)
            cell = np.stack([cell, paths.grid.locate(*to_mercator(*ends))], axis=1).ravel()
            unit, key = np.repeat(unit, 2), np.repeat(key, 2)
        else:
            apart = np.diff(hours[start]) * SECONDS_AN_HOUR > paths.gap_minutes * SECONDS_A_MINUTE
            new = np.r_[False, (np.diff(unit) != 0) | apart]
            trip = np.cumsum(new[: start.size])
        bound = self.bound if self.unit is Unit.PERSON else None
        features = TripFeatures(paths.grid, bound, distinct=self._distinct)
        features.add(OrderedRows(unit=unit, trip=trip, cell=cell, key=key))
        return features.private()

    def totals(self, regions: ValuedRegions, *, sightings: int, visits: int) -> PrivateTotals:
        """Return the totals of people, sightings and visits over all regions.

        One person adds at most `sightings` sightings and at most `visits` visits.
        """
        whole = replace(self, counting=Counting.VISITS, bound=1 << 30, preferred=None)
        persons, cells = whole._kept(regions)
        seen = np.unique(np.stack([persons, cells]), axis=1)[0]
        _, rows = np.unique(persons, return_counts=True)
        _, places = np.unique(seen, return_counts=True)

        def counts(total: Any, most: int) -> PrivateCounts:
            return PrivateCounts(np.array([int(total)]), sensitivity=most)

        return PrivateTotals(
            people=counts(rows.size, 1),
            sightings=counts(np.minimum(places, sightings).sum(), sightings),
            visits=counts(np.minimum(rows, visits).sum(), visits),
        )

    def contributions(self, regions: ValuedRegions, most: int) -> PrivateContributions:
        """Return the numbers of people with 0, 1, 2, ... contributions in the regions.

        People with more than `most` contributions are counted together, in the last number.
        """
        persons, _ = replace(self, bound=1 << 30, preferred=None)._kept(regions)
        _, each = np.unique(persons, return_counts=True)
        return PrivateContributions(np.bincount(np.minimum(each, most + 1), minlength=most + 2))

    def with_bound(self, bound: int) -> ArrayView:
        """Return a copy of this view with another contribution bound."""
        return replace(self, bound=bound)

    def popularity(self, regions: Regions) -> PrivateCounts:
        """Return the number of people in each region; a person counts in only one of them."""
        view = replace(self, bound=1, preferred=None)
        if isinstance(regions, Listed):
            return view.zone_counts(regions)
        return view.histogram(regions).flat()

    def preferring(self, popularity: Popularity) -> ArrayView:
        """Return a copy of this view that prefers to count people in the most popular regions."""
        return replace(self, preferred=popularity)

    def _cells(self, regions: ValuedRegions) -> NDArray[np.int64]:
        """Return the counted cells or zones, one for each counted record.

        If people are counted, there is one for each person and cell or zone.
        """
        return self._kept(regions)[1]

    def _kept(self, regions: ValuedRegions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, as two arrays, each pair that counts: a person, and a cell or zone."""
        lon = np.asarray(self.longitude, dtype=np.float64)
        lat = np.asarray(self.latitude, dtype=np.float64)
        inside = self.area.covers(lon, lat)
        lon, lat = lon[inside], lat[inside]
        place, cells = self._located(regions, lon, lat, np.flatnonzero(inside))
        persons = np.arange(lon.size)
        if cells.size and (self.unit is Unit.PERSON or isinstance(regions, Listed | SlicedZones)):
            if self.unit is Unit.PERSON:
                persons = np.asarray(self.persons, dtype=np.int64)[inside]
            return self._bounded(persons[place], cells, lon[place], lat[place], regions)
        return persons[place], cells

    def _located(
        self,
        regions: ValuedRegions,
        lon: NDArray[np.float64],
        lat: NDArray[np.float64],
        rows: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which of the records at `lon` and `lat` are in regions, and the region of each.

        Records are returned as indices of `lon`. `rows` holds the indices of the same records in
        the view's own arrays.
        """
        if isinstance(regions, NearPlaces) and regions.by_key:
            named = [number_of_key(self.place_keys[row]) for row in rows.tolist()]
            return regions.find_keys(np.array(named, dtype=np.uint64))
        if isinstance(regions, Listed):
            return regions.locator().locate(lon, lat)
        if isinstance(regions, SlicedGrid | SlicedZones):
            whole = regions.grid if isinstance(regions, SlicedGrid) else regions.zones
            place, cells = self._located(whole, lon, lat, rows)
            size = len(whole) if isinstance(whole, Listed) else whole.size
            return place, cells + size * self._slice(regions.slices, rows[place])
        return np.arange(lon.size), regions.locate(*to_mercator(lon, lat))

    def _slice(self, slices: Slicing, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        index = np.zeros(rows.size, dtype=np.int64)
        if slices.times:
            hours = np.asarray(self.hours, dtype=np.int64)[rows]
            index = np.asarray(slices.times.of_hour, dtype=np.int64)[hours]
        if slices.category:
            codes = np.asarray(self.codes, dtype=np.int64)[rows]
            index = index + codes * (len(slices.times) if slices.times else 1)
        return index

    def _bounded(
        self,
        persons: NDArray[np.int64],
        cells: NDArray[np.int64],
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        regions: ValuedRegions,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.counting is Counting.PEOPLE:
            persons, cells = np.unique(np.stack([persons, cells]), axis=1)
            key = _hash(self.salt, persons, cells)
        else:
            # If the privacy unit is a record, the hash must not depend on the record's number,
            # which would change if an earlier record were removed.
            who = persons if self.unit is Unit.PERSON else np.zeros_like(persons)
            key = _hash(self.salt, who, x.view(np.int64), y.view(np.int64), cells)
        ranks = np.zeros_like(cells)
        if self.preferred:
            ranks = self.preferred.table(regions).of_cells(cells, regions)
        order = np.lexsort((key, ranks, persons))
        persons, cells = persons[order], cells[order]
        starts = np.flatnonzero(np.r_[True, persons[1:] != persons[:-1]])
        rank = np.arange(persons.size) - np.repeat(starts, np.diff(np.r_[starts, persons.size]))
        return persons[rank < self.bound], cells[rank < self.bound]


def _region(
    regions: Grid | Zones, lon: NDArray[np.float64], lat: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the region of each position, the first if there are several, -1 for none."""
    if isinstance(regions, Grid):
        return regions.locate(*to_mercator(lon, lat))
    found = np.full(lon.size, -1, dtype=np.int64)
    row, zone = regions.locator().locate(lon, lat)
    found[row[::-1]] = zone[::-1]
    return found


def _ranks(persons: NDArray[np.int64], key: NDArray[Any]) -> NDArray[np.int64]:
    """Return each record's rank, from 0, among those of the same person in the order of `key`."""
    order = np.lexsort((key, persons))
    starts = np.flatnonzero(np.r_[True, persons[order][1:] != persons[order][:-1]])
    if not persons.size:
        return np.empty(0, dtype=np.int64)
    ranks = np.empty(persons.size, dtype=np.int64)
    ranks[order] = np.arange(persons.size) - np.repeat(starts, np.diff(np.r_[starts, persons.size]))
    return ranks


def _hash(salt: int, *columns: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a well-mixed 64-bit hash of `salt` and each row of `columns`.

    It applies the finaliser of SplitMix64 (Steele et al. 2014) for each column in turn.
    """
    state = np.full(columns[0].size, salt, dtype=np.uint64)
    for column in columns:
        state = (state ^ column.view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state
