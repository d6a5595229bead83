"""Trips between regions, checked against a plain loop over each person's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from dpgeo.core.categories import Category, category_column
from dpgeo.core.domain import Domain
from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.slices import Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.core.trips import TripPairs
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees
from dpgeo.spatial.zones import Zones
from tests.unit.engine.canonical import AREA, write

ZONE = "Europe/Berlin"
GRID = Grid.over(AREA, 4)
HALVES = Zones(
    keys=("west", "east"),
    names=("West", "East"),
    shapes=shapely.box([13.0, 13.1], [52.0, 52.0], [13.1, 13.2], [52.08, 52.08]),
)
"""Two zones with a common border; the north of the area is in no zone."""

Trip = tuple[int, float, float, int | None, float | None, float | None]
"""A row: person, x, y, time, and x and y of its destination."""

EVERYTHING = 10**6

MODE = Category("mode", "Mode of transport", ("walk", "bike"))


def write_trips(path: Path, rows: Sequence[Trip]) -> Path:
    write(path, [row[:4] for row in rows])
    table = pq.read_table(path)
    for number, name in ((4, "destination_x"), (5, "destination_y")):
        table = table.append_column(name, pa.array([row[number] for row in rows], pa.float64()))
    codes = pa.array([code_of(row) for row in rows], pa.int32())
    table = table.append_column(category_column(0), codes)
    pq.write_table(table, path, row_group_size=1000)
    return path


def travellers(people: int = 15, rows: int = 300, seed: int = 1) -> list[Trip]:
    """Return rows within some days; a tenth have no time, and a fifth no destination."""
    random = np.random.default_rng(seed)
    west, south, east, north = AREA.mercator_bounds
    x, to_x = random.uniform(west, east, (2, rows))
    y, to_y = random.uniform(south, north, (2, rows))
    return [
        (
            int(random.integers(0, people)),
            float(x[n]),
            float(y[n]),
            int(random.integers(0, 400)) * 1800 if n % 10 else None,
            float(to_x[n]) if n % 5 else None,
            float(to_y[n]) if n % 5 else None,
        )
        for n in range(rows)
    ]


def view_of(path: Path, **settings: Any) -> DuckDBView:
    facts: dict[str, Any] = {
        "domain": Domain(AREA, time_zone=ZONE, categories=(MODE,), destinations=True),
        "unit": Unit.PERSON,
        "counting": Counting.VISITS,
        "bound": EVERYTHING,
        "salt": bytes(16),
        "threads": 2,
    }
    return DuckDBView(path, **(facts | settings))


def counts_of(view: DuckDBView, pairs: TripPairs) -> dict[int, int]:
    """Return the exact counts of a view. Only tests may read them."""
    counts = view.trips(pairs)
    assert (counts.sensitivity, counts.size) == (view.bound, pairs.size)
    return dict(zip(*(each.tolist() for each in counts._read_by_meter()), strict=True))


def region_of(pairs: TripPairs, x: float | None, y: float | None) -> int:
    if x is None or y is None:
        return -1
    if isinstance(pairs.regions, Grid):
        return int(pairs.regions.locate(x, y))
    longitude, latitude = to_degrees(x, y)
    inside = shapely.intersects_xy(pairs.regions.shapes, longitude, latitude)
    return int(np.flatnonzero(inside)[0]) if inside.any() else -1


def code_of(row: Trip) -> int:
    """Return the code of the category that these tests give to a row, which depends on its x."""
    return int(1000 * row[1]) % len(MODE)


def divided_by(times: str | None, *, category: bool) -> Slicing | None:
    if not times and not category:
        return None
    return Slicing(
        TIME_SLICES[times] if times else None, ZONE if times else "", MODE if category else None
    )


def read_trips(pairs: TripPairs, rows: Sequence[Trip]) -> list[tuple[int, int]]:
    """Return the person and the pair of regions of every trip, found by a plain loop."""
    ends: list[tuple[Trip, float | None, float | None]] = [(row, row[4], row[5]) for row in rows]
    if pairs.gap_hours:
        timed = [row for row in rows if row[3] is not None]
        timed.sort(key=lambda row: (row[0], row[3] or 0, row[1], row[2]))
        ends = [
            (one, other[1], other[2])
            for one, other in pairwise(timed)
            if one[0] == other[0] and (other[3] or 0) - (one[3] or 0) <= 3600 * pairs.gap_hours
        ]
    found = []
    for row, to_x, to_y in ends:
        origin, destination = region_of(pairs, row[1], row[2]), region_of(pairs, to_x, to_y)
        number = 0
        times = pairs.slices.times if pairs.slices else None
        if times:
            if row[3] is None:
                continue
            local = datetime.fromtimestamp(row[3], UTC).astimezone(ZoneInfo(ZONE))
            number = times.of_hour[24 * local.weekday() + local.hour]
        if pairs.slices and pairs.slices.category:
            number += (len(times) if times else 1) * code_of(row)
        if min(origin, destination) >= 0 and (pairs.within or origin != destination):
            n = pairs.size_of_regions
            found.append((row[0], (number * n + origin) * n + destination))
    return found


@pytest.mark.parametrize("regions", [GRID, HALVES], ids=["grid", "zones"])
@pytest.mark.parametrize("gap_hours", [0, 3])
@pytest.mark.parametrize("slices", [None, "6 hours"])
@pytest.mark.parametrize("category", [False, True])
@pytest.mark.parametrize("within", [False, True])
def test_trips_are_those_of_a_loop(
    tmp_path: Path, regions: Any, gap_hours: int, slices: str | None, category: bool, within: bool
) -> None:
    pairs = TripPairs(regions, gap_hours, within, divided_by(slices, category=category))
    rows = travellers()
    path = write_trips(tmp_path / "trips.parquet", rows)
    expected = read_trips(pairs, rows)
    assert len(expected) > 10
    assert counts_of(view_of(path), pairs) == Counter(pair for _, pair in expected)
    people = view_of(path, counting=Counting.PEOPLE)
    assert counts_of(people, pairs) == Counter(pair for _, pair in set(expected))


@pytest.mark.parametrize("trips", [1, 4, 40])
def test_a_person_adds_the_bound_on_one_pair_on_many_and_in_a_chain(
    tmp_path: Path, trips: int
) -> None:
    """The bound holds whether a person's trips are on one pair of regions, on many, or in a
    chain.
    """
    centre = GRID.west + 0.5 * GRID.cell, GRID.north - 0.5 * GRID.cell

    def at(cell: int) -> tuple[float, float]:
        return centre[0] + cell % 4 * GRID.cell, centre[1] - cell // 4 * GRID.cell

    ways: dict[str, list[tuple[int, int]]] = {
        "one": [(0, 1)] * trips,
        "many": [(n % 4, 4 + n % 4) for n in range(trips)],
    }
    for name, way in ways.items():
        rows = [(1, *at(start), n * 60, *at(end)) for n, (start, end) in enumerate(way)]
        path = write_trips(tmp_path / name, rows)
        counts = counts_of(view_of(path, bound=4), TripPairs(GRID))
        assert sum(counts.values()) == min(trips, 4)
        people = counts_of(view_of(path, bound=4, counting=Counting.PEOPLE), TripPairs(GRID))
        assert people == dict.fromkeys({4 * 4 * start + end for start, end in way}, 1)
    chain: list[Trip] = [(1, *at(n % 16), n * 60, None, None) for n in range(trips + 1)]
    path = write_trips(tmp_path / "chain", chain)
    assert sum(counts_of(view_of(path, bound=4), TripPairs(GRID, 1)).values()) == min(trips, 4)


def test_records_are_trips_by_row_alone(tmp_path: Path) -> None:
    rows = travellers()
    path = write_trips(tmp_path / "trips", rows)
    view = view_of(path, unit=Unit.RECORD, bound=1)
    pairs = TripPairs(GRID)
    assert counts_of(view, pairs) == Counter(pair for _, pair in read_trips(pairs, rows))
    with pytest.raises(PrivacyError, match="persons"):
        view.trips(TripPairs(GRID, 3))


@pytest.mark.parametrize("counting", list(Counting))
@pytest.mark.parametrize("gap_hours", [0, 3])
def test_the_bound_of_trips_holds_over_all_values_together(
    tmp_path: Path, counting: Counting, gap_hours: int
) -> None:
    """The bound holds over all values of a category together.

    Each person is removed in turn; the rows that are left keep their order.
    """
    slices = divided_by("6 hours", category=True)
    pairs, bound = TripPairs(GRID, gap_hours, True, slices), 2
    rows = [*travellers(), *travellers()[::3]]
    codes = np.arange(len(rows)) % len(MODE)
    facts: dict[str, Any] = {"counting": counting, "bound": bound}

    def counted(name: str, chosen: list[int]) -> Counter[int]:
        path = write_trips(tmp_path / name, [rows[at] for at in chosen])
        table = pq.read_table(path).drop_columns([category_column(0)])
        values = pa.array(codes[chosen], pa.int32())
        pq.write_table(table.append_column(category_column(0), values), path)
        return Counter(counts_of(view_of(path, **facts), pairs))

    every = list(range(len(rows)))
    whole = counted("a", every)
    assert counted("r", every[::-1]) == whole
    for who in range(5):
        rest = counted(f"b{who}", [at for at in every if rows[at][0] != who])
        own = counted(f"c{who}", [at for at in every if rows[at][0] == who])
        assert 0 < own.total() <= bound
        assert rest + own == whole
