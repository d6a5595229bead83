"""Counts by slices of local time, checked against the time zones of the standard library."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.slices import SlicedGrid, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.privacy.bounding import Popularity
from dpgeo.spatial.grid import Grid
from tests.unit.engine.canonical import AREA, Row, centre, located, wanderers, write

ZONE = "Europe/Berlin"
BOTH = pytest.mark.parametrize("counting", list(Counting))


def view_of(
    path: Path, *, counting: Counting = Counting.PEOPLE, unit: Unit = Unit.PERSON, bound: int = 3
) -> DuckDBView:
    return DuckDBView(
        path,
        domain=Domain(AREA, time_zone=ZONE),
        unit=unit,
        counting=counting,
        bound=bound,
        salt=bytes(16),
    )


def sliced_grid(cells: int = 4, slices: str = "6 hours", zone: str = ZONE) -> SlicedGrid:
    return SlicedGrid(Grid.over(AREA, cells), Slicing(TIME_SLICES[slices], zone))


def counts_of(view: DuckDBView, sliced: SlicedGrid) -> NDArray[np.int64]:
    """Return the exact counts of a view. Only tests may read them."""
    counts = view.sliced_histogram(sliced)
    assert counts.sensitivity == view.bound
    assert counts.shape == sliced.shape
    return counts._read_by_meter()


def regions(sliced: SlicedGrid, rows: list[Row]) -> list[int | None]:
    """Return the region of each row, or None for a row without a time.

    The region combines the cell found by `Grid.locate` with the time slice found with `zoneinfo`.
    """
    zone = ZoneInfo(sliced.slices.time_zone)
    assert sliced.slices.times is not None
    of_hour = sliced.slices.times.of_hour
    indices: list[int | None] = []
    for cell, (_, _, _, time) in zip(located(sliced.grid, rows).tolist(), rows, strict=True):
        if time is None or cell < 0:
            indices.append(None)
            continue
        local = datetime.fromtimestamp(time, UTC).astimezone(zone)
        number = of_hour[24 * local.weekday() + local.hour]
        indices.append(number * sliced.grid.size + cell)
    return indices


@BOTH
@pytest.mark.parametrize("slices", TIME_SLICES)
@pytest.mark.parametrize("zone", [ZONE, "UTC", "Asia/Kathmandu", "America/St_Johns"])
def test_times_fall_into_the_slices_of_local_time(
    tmp_path: Path, counting: Counting, slices: str, zone: str
) -> None:
    sliced = sliced_grid(slices=slices, zone=zone)
    rows = wanderers(np.random.default_rng(5), 20, 400)
    x, y = centre(sliced.grid, 1, 1)
    # Times within two hours of the two clock changes in Berlin in 2024.
    changes = [1711846800 + step for step in range(-7200, 7201, 1800)]
    changes += [1729990800 + step for step in range(-7200, 7201, 1800)]
    rows += [(99, x, y, time) for time in changes]
    pairs = [
        (row[0], region)
        for row, region in zip(rows, regions(sliced, rows), strict=True)
        if region is not None
    ]
    assert len(pairs) < len(rows)
    amounts = Counter(
        region for _, region in (set(pairs) if counting is Counting.PEOPLE else pairs)
    )

    view = view_of(write(tmp_path / "canonical.parquet", rows), counting=counting, bound=1000)

    expected = [amounts[region] for region in range(sliced.size)]
    assert counts_of(view, sliced).ravel().tolist() == expected


@BOTH
def test_the_bound_holds_over_all_slices_together(tmp_path: Path, counting: Counting) -> None:
    sliced = sliced_grid(slices="3 hours")
    rows = wanderers(np.random.default_rng(6), 12, 300)
    whole = counts_of(view_of(write(tmp_path / "whole.parquet", rows), counting=counting), sliced)
    for person in range(12):
        others = [row for row in rows if row[0] != person]
        path = write(tmp_path / "others.parquet", others)
        without = counts_of(view_of(path, counting=counting), sliced)
        difference = whole - without
        assert difference.min() >= 0
        assert difference.sum() == 3
    once = [(7, *centre(sliced.grid, 0, 0), 3600 * hour) for hour in range(48)]
    path = write(tmp_path / "once.parquet", once)
    assert counts_of(view_of(path, counting=counting), sliced).sum() == 3


def test_popular_places_are_kept_whatever_the_time(tmp_path: Path) -> None:
    sliced = sliced_grid()
    popular, other = centre(sliced.grid, 0, 0), centre(sliced.grid, 3, 3)
    hours = range(0, 24, 6)
    rows: list[Row] = [(person, *other, hour * 3600) for person in range(30) for hour in hours]
    rows += [(person, *popular, 3600 * (person % 24)) for person in range(30)]
    counts = np.zeros(sliced.grid.size, dtype=np.int64)
    counts[0] = 10
    view = view_of(write(tmp_path / "canonical.parquet", rows), bound=1)

    bounded = counts_of(view.preferring(Popularity(sliced.grid, counts)), sliced)

    assert bounded[:, 0, 0].sum() == bounded.sum() == 30
    assert counts_of(view, sliced)[:, 0, 0].sum() < 20


@pytest.mark.parametrize("rows", [[], [(1, 0.0, 0.0, 0)]], ids=["empty", "a row"])
def test_a_time_zone_that_only_the_system_knows_is_always_refused(
    tmp_path: Path, rows: list[Row]
) -> None:
    view = view_of(write(tmp_path / "canonical.parquet", rows))

    with pytest.raises(InvalidInput, match="posix/Europe/Berlin") as caught:
        view.sliced_histogram(sliced_grid(zone="posix/Europe/Berlin"))
    assert caught.value.field == "slices"
