"""Private view of a canonical Parquet file, bounded and counted by DuckDB.

Contribution bounding. The items to be sampled are rows if visits are counted, and distinct pairs of
a person and a cell if people are counted. Every item gets a key: its high bits are a hash of the
salt, the person and the item's own content, and its low bits are the index of its cell. A person's
sample is the `bound` items with the smallest keys (simple random sampling, Fan and Jin 2015); their
cells are read back from the keys. If zones are counted, zones replace cells: a row in two zones
makes two items, so that a person adds at most `bound` to overlapping zones as well. With `popular`
bounding, keys start with the popularity rank of the place (`privacy.bounding`). Declared places are
counted like zones: a row belongs to the nearest place within reach.

Privacy argument. For a fixed salt, the sample of a person is a function of that person's own rows:
given the ranks, which are public, a key does not depend on other rows, on their order or on their
number. Removing a person therefore removes that person's sample, which adds at most `bound` to the
counts, and does not change any other sample. This holds whatever the quality of the hash: the L1
sensitivity is `bound`. Rows are grouped by all 128 bits of the person, so two people never share a
sample.

Passes. Where one pass would take too much memory, people are divided by the range of their hashes,
each into one pass (`people_of`). Keys depend neither on the pass nor on the order of rows, so a
file that is ordered by person (`ingest.canonical_writer`) has the same samples as one that is not.

Ties. A key has 64 bits. The cells of a grid of 4096 x 4096 take 24 of them, so 40 are left for the
hash (34 on a grid of 32768 x 32768), or about 12 fewer with ranks. Two items of one person agree in
40 bits with probability 2^-40. The index of the cell then decides, which is still a function of the
person's own rows; it only makes the choice slightly less uniform.

Utility. DuckDB's hash of several values is an XOR of their single hashes. With that hash alone, the
same one of three items would be the smallest in half of all cases. The outer hash mixes the bits
again, which makes the choice uniform (tested).
"""

from __future__ import annotations

import copy
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.categories import category_column
from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput, PrivacyError
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure, measure_column
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.core.trip_paths import TripPaths
from dpgeo.core.trips import TripPairs
from dpgeo.engine import counting_sql as sql
from dpgeo.engine import trip_rows
from dpgeo.engine.canonical_file import MEMORY_BYTES, CanonicalFile, Parameters, as_pattern
from dpgeo.engine.reports import BoundedReports
from dpgeo.engine.trips import TRIPS, located
from dpgeo.engine.zoned import ZonedRows
from dpgeo.privacy.bound_choice import PrivateContributions
from dpgeo.privacy.bounding import (
    CountedRegions,
    Listed,
    Popularity,
    RankTable,
    Regions,
    ValuedRegions,
)
from dpgeo.privacy.counts import PrivateCounts, PrivateTotals
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.privacy.positions import PrivatePositions
from dpgeo.privacy.sparse import PrivateSparseCounts, summed
from dpgeo.privacy.trip_features import PrivateTripFeatures, TripFeatures
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

if TYPE_CHECKING:
    import duckdb

HEAP_BYTES = 50
"""Measured bytes of memory that `min(key, bound)` reserves for each of a person's `bound` keys."""

LIST_BYTES = 40
"""Measured bytes of memory for each key in DuckDB's `list(key)`, including the sorted copy."""

HASHES = 1 << 64
"""Number of possible values of one half of a person's hash, which has 64 bits."""

HEAP_LIMIT = 999_999
"""Largest number of keys that DuckDB's `min(key, n)` supports."""


Answer = dict[str, NDArray[Any]]
"""A query's result: its columns by name, each an array (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How DuckDB finds each person's smallest keys; it affects time and memory but not the counts.

    With `heap`, the smallest keys are kept in memory that is reserved in advance. Otherwise, and
    for counts of people by region, all keys are listed and sorted. DuckDB cannot spill heaps or
    lists to disk, so the people are counted in `passes` groups, one after the other (`people_of`).
    """

    heap: bool
    passes: int


def choose_sampling(
    counting: Counting, *, rows: int, people: int, bound: int, memory: int, threads: int
) -> Sampling:
    """Choose the method of sampling and the number of passes that fit in half of `memory` bytes.

    Heaps are chosen if they take less memory than lists; every thread reserves a heap of its own
    for each person whose rows it reads. If people are counted, there are as many passes as lists
    need, even if averages use heaps: they first collect all pairs of a person and a region, which
    take as much memory as lists.
    """
    heap_bytes = HEAP_BYTES * bound * people * threads
    list_bytes = LIST_BYTES * rows
    heap = heap_bytes <= list_bytes and bound <= HEAP_LIMIT
    state = heap_bytes if heap and counting == Counting.VISITS else list_bytes
    return Sampling(heap=heap, passes=max(1, -(-state // (memory // 2))))


class DuckDBView:
    """A `PrivateView` of the canonical file at `path`.

    The columns read are person_high and person_low (uint64), x and y (float64, Web Mercator metres)
    and time (int64 or null). `salt` is 16 secret bytes, drawn anew for each job and used for all of
    its measurements. `progress(done, total)` is called after each pass. `threads` is the number of
    processors if it is None, and `sampling` is chosen by the size of the file if it is None. Data
    that do not fit in memory are spilled to `folder`, or to the system's temporary folder if it is
    None.

    Raises InvalidInput (field "bound") for a bound below 1, or other than 1 if the privacy unit is
    a record, or ValueError for a salt of another length.
    """

    def __init__(
        self,
        path: Path,
        *,
        domain: Domain,
        unit: Unit,
        counting: Counting,
        bound: int,
        salt: bytes,
        progress: Callable[[int, int], None] | None = None,
        memory_bytes: int = MEMORY_BYTES,
        threads: int | None = None,
        sampling: Sampling | None = None,
        folder: Path | None = None,
    ) -> None:
        if bound < 1:
            raise InvalidInput(
                "Must be at least 1: the most that one person may add.", field="bound"
            )
        if unit == Unit.RECORD and bound != 1:
            raise InvalidInput(
                "Must be 1 if every record is a privacy unit; declare a person column to let "
                "one person add more.",
                field="bound",
            )
        self._file = CanonicalFile(
            path=path,
            salt=salt,
            folder=folder,
            memory_bytes=memory_bytes,
            threads=threads or os.cpu_count() or 1,
        )
        self._zoned = ZonedRows(self._file, unit)
        self._domain = domain
        self._unit = unit
        self._counting = counting
        self._bound = bound
        self._progress = progress
        self._sampling = sampling
        self._popularity: Popularity | None = None

    @property
    def domain(self) -> Domain:
        """The public domain, which consists of the study area and its named layers.

        The study area contains all positions in the file.
        """
        return self._domain

    @property
    def unit(self) -> Unit:
        """The privacy unit: a person or a record."""
        return self._unit

    @property
    def counting(self) -> Counting:
        """What a cell counts: distinct people, or visits."""
        return self._counting

    @property
    def bound(self) -> int:
        """Contribution bound: the most cells or records of one privacy unit that are counted.

        It limits cells if distinct people are counted, and records if visits are counted.
        """
        return self._bound

    @property
    def _distinct(self) -> bool:
        """Whether one privacy unit adds at most 1 to each count.

        The queries for people keep each combination of a person and a region once.
        """
        return self._unit is Unit.PERSON and self._counting is Counting.PEOPLE

    def histogram(self, grid: Grid) -> PrivateCounts:
        """Return counts by cell, in the grid's shape, with L1 sensitivity `bound`."""
        return self._dense(grid)

    def sliced_histogram(self, sliced: SlicedGrid | SlicedZones) -> PrivateCounts:
        """Return counts of shape (slices, ...regions), with L1 sensitivity `bound`.

        Raises InvalidInput (field "slices") for a time zone that DuckDB does not know. The time
        zone is checked before any row is read, since an error must not reveal whether there are
        rows. Raises PrivacyError for a category that the domain does not declare.
        """
        self._check_slices(sliced.slices)
        return self._dense(sliced)

    def _check_slices(self, slices: Slicing) -> None:
        if slices.category is not None and slices.category not in self._domain.categories:
            raise PrivacyError("Only a declared category divides counts.")
        if slices.times:
            self._check_zone(slices.time_zone)

    def _check_zone(self, time_zone: str) -> None:
        import duckdb

        with self._file.scratch() as scratch, self._file.connected(scratch) as connection:
            try:
                connection.execute(sql.CLOCK, {"time_zone": time_zone}).fetchall()
            except duckdb.Error:
                raise InvalidInput(
                    "The times of this dataset are in {time_zone}, a time zone unknown to maps "
                    "by time; declare a new dataset with the usual name of the zone.",
                    time_zone=time_zone,
                    field="slices",
                ) from None

    def sparse_histogram(self, grid: Grid) -> PrivateSparseCounts:
        """Return counts of the occupied cells only, with L1 sensitivity `bound`."""
        passes = list(self._counted(grid))
        cells, amounts = (np.concatenate(each) for each in zip(*passes, strict=True))
        return summed(
            cells, amounts, size=grid.size, sensitivity=self._bound, distinct=self._distinct
        )

    def visits(self, grid: Grid) -> PrivateVisits:
        """Return pairs of a privacy unit and a cell, at most `bound` pairs for each unit.

        People are numbered in the order in which their rows are read. That order must not affect
        any measurement.
        """
        persons, cells, people = [], [], 0
        for person, cell in self._columns(grid, "person", "cell"):
            persons.append(people + person)
            cells.append(cell)
            people += int(person.max(initial=-1)) + 1
        return PrivateVisits(
            np.concatenate(persons), np.concatenate(cells), size=grid.size, sensitivity=self._bound
        )

    def zone_counts(self, zones: Listed) -> PrivateCounts:
        """Return counts (n,) by zone or place, with L1 sensitivity `bound` over all regions
        together.
        """
        return self._dense(zones)

    def value_shares(self, regions: ValuedRegions, measure: Measure) -> PrivateShares:
        """Return what averages of a measure are made of, in the shape of the regions.

        The result holds, for each region, the number of values and their sum, in the evenly spaced
        steps to which values are rounded (`core.measures`). Raises PrivacyError for a measure or a
        category that the domain does not declare.
        """
        shape = _shape(regions)
        numbers, sums = (np.zeros(math.prod(shape), dtype=np.int64) for _ in range(2))
        queries = sql.SUM_ROWS, sql.SUM_SAMPLED
        for cells, amounts, totals in self._valued(
            regions, measure, queries, "cell", "amount", "total"
        ):
            numbers[cells] += amounts
            sums[cells] += totals
        return PrivateShares(
            numbers.reshape(shape),
            sums.reshape(shape),
            steps=measure.steps,
            bound=self._bound,
            distinct=self._distinct,
        )

    def value_histogram(self, regions: ValuedRegions, measure: Measure, bins: int) -> PrivateCounts:
        """Return counts by region and by bin of the measure's range, with L1 sensitivity `bound`.

        The shape is that of the regions, with an axis of bins added at the end. Raises PrivacyError
        for a measure or a category that the domain does not declare.
        """
        shape = (*_shape(regions), bins)
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        queries = sql.BIN_ROWS, sql.BIN_SAMPLED
        for binned, amounts in self._valued(
            regions, measure, queries, "binned", "amount", bins=bins
        ):
            counts[binned] += amounts
        return PrivateCounts(
            counts.reshape(shape), sensitivity=self._bound, distinct=self._distinct
        )

    def _valued(
        self,
        regions: ValuedRegions,
        measure: Measure,
        queries: tuple[str, str],
        *names: str,
        bins: int = 0,
    ) -> Iterator[list[NDArray[np.int64]]]:
        """Yield the named columns (n,) of a query over values, for each pass (`people_of`).

        `queries` are two versions of the last part of the SQL: for all rows, and for a sample.
        Raises PrivacyError for a measure or a category that the domain does not declare.
        """
        self._check_valued(regions, measure)
        column = measure_column(self._domain.measures.index(measure))
        with self._file.scratch() as folder:
            located, parameters = self._located(regions)
            with self._file.connected(folder) as connection:
                parameters |= {"values": measure.steps + 1, "bins": bins}
                valued = sql.VALUED.format(column=column)
                query, passes = self._value_query(connection, regions, measure, parameters, queries)
                query = located + valued + query
                for found in self._results(connection, query, parameters, passes):
                    yield [found[name].astype(np.int64) for name in names]

    def _check_valued(self, regions: ValuedRegions, measure: Measure) -> None:
        if measure not in self._domain.measures:
            raise PrivacyError("Only a declared measure is averaged.")
        self._check_divided(regions)

    def _check_divided(self, regions: ValuedRegions) -> None:
        if isinstance(regions, SlicedGrid | SlicedZones):
            self._check_slices(regions.slices)

    def _value_query(
        self,
        connection: duckdb.DuckDBPyConnection,
        regions: ValuedRegions,
        measure: Measure,
        parameters: Parameters,
        queries: tuple[str, str],
    ) -> tuple[str, int]:
        """Return SQL that adds up or counts the values of contributions, and the number of passes.

        The SQL is appended to that of `_located`. `queries` are two versions of its last part: one
        for all rows, and one for a sample of the contributions.
        """
        of_rows, of_sample = queries
        if self._unit == Unit.RECORD and not _may_overlap(regions):
            return of_rows, 1
        item_bits = (_size(regions) * (measure.steps + 1) - 1).bit_length()
        parameters |= {
            "bound": self._bound,
            **self._file.salt_words(),
            "cell_bits": (1 << item_bits) - 1,
            "hash_bits": (1 << 64) - (1 << item_bits),
        }
        sampling = self._sampling or self._choose(connection, parameters["path"])
        items = sql.VALUED_PEOPLE if self._counting == Counting.PEOPLE else sql.VALUED_VISITS
        if self._unit == Unit.RECORD:
            items = sql.VALUED_RECORDS
        sampled = sql.HEAP if sampling.heap else sql.LIST
        return items + sql.VALUED_KEYS + sampled + of_sample, sampling.passes

    def trips(self, pairs: TripPairs) -> PrivateSparseCounts:
        """Return counts by pair of regions and slice, with L1 sensitivity `bound` over all pairs.

        The trips are described in `dpgeo.engine.trips`. Raises PrivacyError for trips that join two
        rows if records are the privacy unit, since a row is then part of two trips, and for a
        category that the domain does not declare; and InvalidInput for a time zone that DuckDB does
        not know.
        """
        if pairs.gap_hours and self._unit is Unit.RECORD:
            raise PrivacyError("Rows are joined to trips where persons are the privacy unit.")
        category = None
        if pairs.slices:
            self._check_slices(pairs.slices)
            if pairs.slices.category:
                index = self._domain.categories.index(pairs.slices.category)
                category = category_column(index)
        with self._file.scratch() as folder, self._file.connected(folder) as connection:
            rows, parameters = located(pairs, self._file.path, folder, category=category)
            keyed = self._trip_keys(pairs, parameters)
            names = ("cell", "amount")
            found = list(self._passes(connection, rows, keyed, parameters, names))
        cells, amounts = (np.concatenate(each) for each in zip(*found, strict=True))
        return summed(
            cells, amounts, size=pairs.size, sensitivity=self._bound, distinct=self._distinct
        )

    def _trip_keys(self, pairs: TripPairs, parameters: Parameters) -> str:
        """Return SQL that computes the keys of trips, and add its inputs to `parameters`.

        The SQL is empty if records are the privacy unit: each record is then one trip, and all are
        counted.
        """
        if self._unit == Unit.RECORD:
            return ""
        bits = (pairs.size - 1).bit_length()
        parameters |= {
            "bound": self._bound,
            **self._file.salt_words(),
            "cell_bits": (1 << bits) - 1,
            "hash_bits": (1 << 64) - (1 << bits),
        }
        items = sql.PEOPLE if self._counting == Counting.PEOPLE else TRIPS
        return items + sql.RANDOM

    def trip_features(self, paths: TripPaths) -> PrivateTripFeatures:
        """Return counts of the features of at most `bound` trips of each privacy unit.

        The trips are described in `dpgeo.engine.trip_rows`. Raises PrivacyError for trips that join
        rows if records are the privacy unit.
        """
        if paths.gap_minutes and self._unit is Unit.RECORD:
            raise PrivacyError("Rows are joined to trips where persons are the privacy unit.")
        bound = self._bound if self._unit is Unit.PERSON else None
        features = TripFeatures(paths.grid, bound, distinct=self._distinct)
        parameters: Parameters = {"path": as_pattern(self._file.path), **self._file.salt_words()}
        query = trip_rows.FOLLOWING if paths.gap_minutes else trip_rows.BY_ROW
        with self._file.scratch() as folder, self._file.connected(folder) as connection:
            (sizes,) = connection.execute(sql.SIZES, {"path": parameters["path"]}).fetchall()
            passes = max(1, -(-trip_rows.ROW_BYTES * sizes[0] // (self._file.memory_bytes // 2)))
            for number in range(passes):
                parameters |= people_of(number, passes)
                found = connection.execute(query, inputs_of(query, parameters)).fetchnumpy()
                columns = {name: np.asarray(values) for name, values in found.items()}
                features.add(trip_rows.rows_of(columns, paths))
                if self._progress:
                    self._progress(number + 1, passes)
        return features.private()

    def totals(self, regions: CountedRegions, *, sightings: int, visits: int) -> PrivateTotals:
        """Return the totals of people, sightings and visits over all regions.

        Their L1 sensitivities are 1, `sightings` and `visits`: one person adds no more to them.

        Raises PrivacyError if records are the privacy unit, or InvalidInput for a time zone that
        DuckDB does not know, as in `sliced_histogram`.
        """
        if self._unit is not Unit.PERSON:
            raise PrivacyError("Totals are bought where persons are the privacy unit.")
        limits: Parameters = {"most_sightings": sightings, "most_visits": visits}
        found = self._of_people(regions, sql.TOTALS, limits)
        people, seen, rows = (
            PrivateCounts(
                np.sum([each[name] for each in found], axis=0, dtype=np.int64), sensitivity=most
            )
            for name, most in (("people", 1), ("sightings", sightings), ("visits", visits))
        )
        return PrivateTotals(people=people, sightings=seen, visits=rows)

    def contributions(self, regions: CountedRegions, most: int) -> PrivateContributions:
        """Return how many people have one contribution, two and so on, counting all above `most`
        together.

        Raises PrivacyError if records are the privacy unit, or InvalidInput as in `totals`.
        """
        if self._unit is not Unit.PERSON:
            raise PrivacyError("A bound is chosen where persons are the privacy unit.")
        by_cell = self._counting is Counting.PEOPLE
        query = sql.SIGHTINGS_OF_EACH if by_cell else sql.VISITS_OF_EACH
        people = np.zeros(most + 2, dtype=np.int64)
        for each in self._of_people(regions, query, {"most_contributions": most}):
            people[each["contributions"].astype(np.int64)] += each["people"].astype(np.int64)
        return PrivateContributions(people)

    def with_bound(self, bound: int) -> DuckDBView:
        """Return a view of the same data with another contribution bound."""
        view = copy.copy(self)
        view._bound = bound
        return view

    def _of_people(self, regions: CountedRegions, query: str, limits: Parameters) -> list[Answer]:
        """Return the results of an SQL query over each person's contributions, one for each pass.

        `query` is the last part of the SQL, after the tables that it reads.
        """
        self._check_divided(regions)
        with self._file.scratch() as folder, self._file.connected(folder) as connection:
            located, parameters = self._located(regions)
            query = located + sql.OF_EACH_PERSON + query
            return list(self._results(connection, query, parameters | limits, 1))

    def popularity(self, regions: Regions) -> PrivateCounts:
        """Return the number of privacy units (n,) in each of n regions, with L1 sensitivity 1.

        Each privacy unit is counted once, in one of its regions, which is chosen at random.
        """
        view = copy.copy(self)
        view._bound, view._popularity = 1, None
        if isinstance(regions, Listed):
            return view.zone_counts(regions)
        return view.histogram(regions).flat()

    def preferring(self, popularity: Popularity) -> DuckDBView:
        """Return a view whose bounding keeps each person's items in the most popular regions."""
        view = copy.copy(self)
        view._popularity = popularity
        return view

    def positions(self, *, time_step: int | None, attributes: bool = False) -> PrivatePositions:
        """Return at most `bound` reports of each privacy unit.

        The sampling is described in `dpgeo.engine.reports`.
        """
        return BoundedReports(
            self._file,
            unit=self._unit,
            bound=self._bound,
            time_step=time_step,
            attributes=attributes,
            progress=self._progress,
        ).private()

    def _dense(self, regions: ValuedRegions) -> PrivateCounts:
        """Return the bounded counts of all regions, in their shape."""
        counts = np.zeros(math.prod(_shape(regions)), dtype=np.int64)
        for numbers, amounts in self._counted(regions):
            counts[numbers] += amounts
        return PrivateCounts(
            counts.reshape(_shape(regions)), sensitivity=self._bound, distinct=self._distinct
        )

    def _counted(
        self, regions: ValuedRegions
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the indices of occupied regions and their bounded counts, for each pass.

        `people_of` explains passes.
        """
        for columns in self._columns(regions, "cell", "amount"):
            yield columns[0], columns[1]

    def _columns(self, regions: ValuedRegions, *names: str) -> Iterator[list[NDArray[np.int64]]]:
        """Yield the named columns (n,) of the result of each pass, which counts some of the people.

        `names` are "cell" and "amount", or "person" and "cell".
        """
        with self._file.scratch() as folder:
            located, parameters = self._located(regions)
            with self._file.connected(folder) as connection:
                keyed = self._keyed(connection, regions, parameters)
                yield from self._passes(connection, located, keyed, parameters, names)

    def _located(self, regions: ValuedRegions) -> tuple[str, Parameters]:
        """Return SQL for the rows inside regions, and its parameters.

        The parameters that select the people of a pass (`people_of`) are added later.
        """
        if isinstance(regions, SlicedGrid | SlicedZones):
            whole = regions.grid if isinstance(regions, SlicedGrid) else regions.zones
            located, parameters = self._in_regions(whole)
            parameters["grid_size"] = _size(whole)
            return located + self._divided(regions.slices, parameters), parameters
        located, parameters = self._in_regions(regions)
        return located + sql.UNDIVIDED, parameters

    def _in_regions(self, regions: Regions) -> tuple[str, Parameters]:
        """Return SQL for the rows in cells, zones or places, and its parameters."""
        if isinstance(regions, Listed):
            return sql.IN_ZONES, {"path": as_pattern(self._zoned.path_for(regions))}
        return sql.IN_CELLS, {"path": as_pattern(self._file.path)} | frame_of(regions)

    def _divided(self, slices: Slicing, parameters: Parameters) -> str:
        """Return SQL that numbers the pair of a row's slice and its region.

        The inputs that this SQL needs are added to `parameters`.
        """
        if slices.times:
            parameters |= {
                "time_zone": slices.time_zone,
                "slices": list(slices.times.of_hour),
            }
        sliced = sql.TIMED if slices.times else sql.UNTIMED
        if not slices.category:
            return sliced + sql.DIVIDED
        parameters["times"] = len(slices.times) if slices.times else 1
        index = self._domain.categories.index(slices.category)
        return sliced + sql.CATEGORISED.format(column=category_column(index))

    def _passes(
        self,
        connection: duckdb.DuckDBPyConnection,
        rows: str,
        keyed: str,
        parameters: Parameters,
        columns: Sequence[str],
    ) -> Iterator[list[NDArray[np.int64]]]:
        """Count the sampled contributions; yield the named columns (n,) of the result of each pass.

        `rows` is SQL for the rows inside regions, and `keyed` SQL that computes the keys of the
        items among which to choose. If `keyed` is empty, all rows are counted.
        """
        by_person = "person" in columns
        if keyed:
            sampling = self._sampling or self._choose(connection, parameters["path"])
            sampled = self._sampled(sampling)
            counted = sql.PERSON_SAMPLED if by_person else sql.COUNT_SAMPLED
            query, passes = rows + keyed + sampled + counted, sampling.passes
        else:
            query, passes = rows + (sql.PERSON_ROWS if by_person else sql.COUNT_ROWS), 1
        for result in self._results(connection, query, parameters, passes):
            yield [result[name].astype(np.int64) for name in columns]

    def _sampled(self, sampling: Sampling) -> str:
        """Return SQL that samples each person's contributions, by choosing their smallest keys."""
        if self._distinct:
            return sql.DISTINCT_LIST
        return sql.HEAP if sampling.heap else sql.LIST

    def _results(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        parameters: Parameters,
        passes: int,
    ) -> Iterator[Answer]:
        """Yield the result of a query for each pass over the rows.

        Each pass counts some of the people; the sum over all passes counts everybody.
        """
        for number in range(passes):
            yield self._run(connection, query, parameters | people_of(number, passes))
            if self._progress:
                self._progress(number + 1, passes)

    def _run(
        self, connection: duckdb.DuckDBPyConnection, query: str, parameters: Parameters
    ) -> Answer:
        """Run a query with the inputs that it names; return the columns of its result by name."""
        result = connection.execute(query, inputs_of(query, parameters)).fetchnumpy()
        return {name: np.asarray(column) for name, column in result.items()}

    def _choose(self, connection: duckdb.DuckDBPyConnection, path: Any) -> Sampling:
        (sizes,) = connection.execute(sql.SIZES, {"path": path}).fetchall()
        rows, people = sizes
        return choose_sampling(
            self._counting,
            rows=rows,
            people=people,
            bound=self._bound,
            memory=self._file.memory_bytes,
            threads=self._file.threads,
        )

    def _keyed(
        self, connection: duckdb.DuckDBPyConnection, regions: ValuedRegions, parameters: Parameters
    ) -> str:
        """Return SQL for the keys by which items are sampled; add its inputs to `parameters`.

        The SQL is empty if the privacy unit is a record and each record is in at most one region:
        all rows are then counted. From its high bits to its low bits, a key consists of the
        popularity rank of the item's place (only with popular bounding), the hash, and the index of
        the cell or zone.
        """
        if self._unit == Unit.RECORD and not _may_overlap(regions):
            return ""
        items = sql.PEOPLE if self._counting == Counting.PEOPLE else sql.VISITS
        if self._unit == Unit.RECORD:
            items = sql.RECORDS
        size = _size(regions)
        cell_bits = (size - 1).bit_length()
        parameters |= {
            "bound": self._bound,
            **self._file.salt_words(),
            "cell_bits": (1 << cell_bits) - 1,
            "hash_bits": (1 << 64) - (1 << cell_bits),
        }
        if self._popularity is None:
            return items + sql.RANDOM
        table = self._popularity.table(regions)
        rank_shift = 64 - int(table.ranks.max()).bit_length()
        if isinstance(regions, Listed | SlicedZones):
            rows, columns = 1, len(table.ranks)
        else:
            rows, columns = regions.shape[-2:]
        parameters |= {
            "hash_bits": (1 << rank_shift) - (1 << cell_bits),
            "grid_size": rows * columns,
            "rows": rows,
            "columns": columns,
            "rank_rows": table.rows,
            "rank_columns": table.columns,
        }
        _put_ranks(connection, table, rank_shift)
        return items + sql.POPULAR


def people_of(number: int, passes: int) -> Parameters:
    """Return the inputs of a query that choose the people of one of `passes` passes.

    A pass has the people for whom the first half of the hash is in one of `passes` equal ranges. In
    files that are clustered by person, a pass then reads only the row groups with these people; in
    others, it reads all of them.
    """
    first, after = (end * HASHES // passes for end in (number, number + 1))
    return {"first_person": first, "last_person": after - 1}


def inputs_of(query: str, parameters: Parameters) -> Parameters:
    """Return the parameters that a query names; DuckDB rejects values for any other name."""
    return {name: parameters[name] for name in set(re.findall(r"\$([a-z_]+)", query))}


def _put_ranks(connection: duckdb.DuckDBPyConnection, table: RankTable, shift: int) -> None:
    """Register a table `ranks` with the rank of each place, shifted left by `shift` bits.

    The shift puts the rank into the high bits of a key.
    """
    import pyarrow as pa

    ranks = table.ranks.astype(np.uint64)
    shifted = ranks << np.uint64(shift) if shift < 64 else np.zeros_like(ranks)
    places = np.arange(ranks.size, dtype=np.uint64)
    connection.register("ranks", pa.table({"place": places, "rank": shifted}))


def _shape(regions: ValuedRegions) -> tuple[int, ...]:
    """Return the shape of an array that has one count for each region."""
    return (len(regions),) if isinstance(regions, Listed) else regions.shape


def _size(regions: ValuedRegions) -> int:
    """Return the number of regions, in all slices together."""
    return len(regions) if isinstance(regions, Listed | SlicedZones) else regions.size


def _may_overlap(regions: ValuedRegions) -> bool:
    """Return whether a row may be in several of the regions, as in zones that overlap."""
    return isinstance(regions.zones if isinstance(regions, SlicedZones) else regions, Zones)


def frame_of(grid: Grid) -> Parameters:
    return {
        "west": grid.west,
        "north": grid.north,
        "cell": grid.cell,
        "columns": grid.columns,
        "rows": grid.rows,
    }
