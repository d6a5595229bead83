"""Counts of declared places, as the engine bounds and counts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.core.categories import Category
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.slices import SlicedZones, Slicing
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.privacy.bounding import Popularity
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.place_keys import number_of_key
from dpgeo.spatial.places import Places
from dpgeo.spatial.projection import to_degrees
from tests.unit.engine.canonical import AREA, Row, wanderers, write
from tests.unit.engine.test_category_slices import written

STOPS = Places.of_cells(AREA, 6)
NEAR = NearPlaces(STOPS, 20_000)
MODE = Category("mode", "Mode", ("walk", "bike"))
BY_MODE = SlicedZones(NEAR, Slicing(category=MODE))
BOTH = pytest.mark.parametrize("counting", Counting, ids=lambda counting: counting.value)


def view_of(path: Path, **changes: Any) -> DuckDBView:
    facts: dict[str, Any] = {
        "domain": Domain(AREA, {"stops": STOPS}, categories=(MODE,)),
        "unit": Unit.PERSON,
        "counting": Counting.VISITS,
        "bound": 3,
        "salt": bytes(range(16)),
        "threads": 2,
        **changes,
    }
    return DuckDBView(path, **facts)


def city(seed: int = 3) -> tuple[list[Row], list[int]]:
    random = np.random.default_rng(seed)
    rows = wanderers(random, 40, 400)
    return rows, random.integers(0, 3, len(rows)).tolist()


def located(rows: list[Row], near: NearPlaces = NEAR) -> tuple[list[int], list[int]]:
    """Return the numbers of the rows within reach of a place, and the place of each."""
    lon, lat = to_degrees([row[1] for row in rows], [row[2] for row in rows])
    row, place = near.locator().locate(lon, lat)
    return row.tolist(), place.tolist()


@BOTH
def test_a_person_adds_at_most_the_bound_over_all_places_and_contexts(
    tmp_path: Path, counting: Counting
) -> None:
    rows, codes = city()
    path = tmp_path / "all.parquet"
    category = Category("mode", "Mode", ("walk", "bike"))
    domain = Domain(AREA, {}, categories=(Category("age", "Age", ("x",)), category))
    sliced = SlicedZones(NEAR, Slicing(category=category))
    full = view_of(written(path, rows, codes), domain=domain, counting=counting, bound=2)
    whole = full.sliced_histogram(sliced)
    assert whole.sensitivity == 2
    counts = whole._read_by_meter()
    assert counts.shape == (3, len(STOPS))
    for person in sorted({row[0] for row in rows})[:6]:
        own = [(row, code) for row, code in zip(rows, codes, strict=True) if row[0] != person]
        left = written(path, [row for row, _ in own], [code for _, code in own])
        view = view_of(left, domain=domain, counting=counting, bound=2)
        rest = view.sliced_histogram(sliced)._read_by_meter()
        # Other people keep the same rows: only the removed person's own contributions are missing.
        assert (counts - rest).min() >= 0
        assert 0 < (counts - rest).sum() <= 2


@BOTH
def test_popular_bounding_ranks_by_the_whole_list(tmp_path: Path, counting: Counting) -> None:
    rows, _ = city()
    view = view_of(write(tmp_path / "a.parquet", rows), counting=counting, bound=1)
    popularity = view.popularity(NEAR)
    assert (popularity.sensitivity, popularity.shape) == (1, (len(STOPS),))
    # popularity falls from the first place to the last
    order = np.arange(len(STOPS))[::-1].astype(np.int64)
    preferring = view.preferring(Popularity(NEAR, order))
    index, place = located(rows)
    best: dict[object, int] = {}
    for row, at in zip(index, place, strict=True):
        best[rows[row][0]] = min(at, best.get(rows[row][0], at))
    truth = np.bincount(list(best.values()), minlength=len(STOPS))
    assert preferring.zone_counts(NEAR)._read_by_meter().tolist() == truth.tolist()


def test_popularity_ranks_places_the_same_in_every_context(tmp_path: Path) -> None:
    rows, codes = city()
    domain = Domain(AREA, {}, categories=(Category("age", "Age", ("x",)), MODE))
    path = written(tmp_path / "a.parquet", rows, codes)
    view = view_of(path, domain=domain, counting=Counting.PEOPLE, bound=1)
    order = np.arange(len(STOPS))[::-1].astype(np.int64)
    preferring = view.preferring(Popularity(NEAR, order))
    counts = preferring.sliced_histogram(BY_MODE)._read_by_meter()
    alone = preferring.zone_counts(NEAR)._read_by_meter()
    assert counts.sum(axis=0).tolist() == alone.tolist()


@BOTH
def test_rows_count_at_the_place_whose_key_they_name(tmp_path: Path, counting: Counting) -> None:
    rows, _ = city()
    random = np.random.default_rng(4)
    named = random.integers(0, len(STOPS) + 3, len(rows))
    listed = [number_of_key(key) for key in STOPS.keys]
    numbers = [None if at >= len(listed) + 1 else [*listed, 7][at] for at in named.tolist()]
    path = write(tmp_path / "plain.parquet", rows)
    table = pq.read_table(path).append_column("place_key", pa.array(numbers, pa.uint64()))
    pq.write_table(table, tmp_path / "keyed.parquet", row_group_size=50)
    near = NearPlaces(STOPS, 1, by_key=True)
    view = view_of(tmp_path / "keyed.parquet", counting=counting, bound=1_000)
    counts = view.zone_counts(near)._read_by_meter()
    pairs = {(row[0], at) for row, at in zip(rows, named.tolist(), strict=True)}
    every = named if counting is Counting.VISITS else np.array([at for _, at in pairs])
    assert counts.tolist() == np.bincount(every, minlength=len(STOPS))[: len(STOPS)].tolist()
    bounded = view_of(tmp_path / "keyed.parquet", counting=counting, bound=2)
    assert bounded.zone_counts(near)._read_by_meter().sum() <= 2 * len({row[0] for row in rows})


def test_single_records_count_once(tmp_path: Path) -> None:
    rows, _ = city()
    index, place = located(rows)
    view = view_of(write(tmp_path / "a.parquet", rows), unit=Unit.RECORD, bound=1)
    truth = np.bincount(place, minlength=len(STOPS))
    assert view.zone_counts(NEAR)._read_by_meter().tolist() == truth.tolist()
    assert len(index) == truth.sum()
