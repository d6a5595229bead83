"""Slices by a private category, as the engine bounds and counts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from dpgeo.core.categories import Category
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.spatial.grid import Grid
from tests.unit.engine.canonical import AREA, Row, located, wanderers, write
from tests.unit.engine.test_value_shares import OVERLAPPING

AGE = Category("age", "Age", ("young",))
MODE = Category("mode", "Mode", ("walk", "bike"))
SPEED = Measure("speed", "Speed", "km/h", 0.0, 50.0)
GRID = Grid.over(AREA, 4)
BY_MODE = Slicing(category=MODE)
HALF_DAYS = TIME_SLICES["12 hours"]
BOTH = pytest.mark.parametrize("counting", Counting, ids=lambda counting: counting.value)


def written(path: Path, rows: list[Row], codes: list[int], steps: list[int] | None = None) -> Path:
    """Write rows with the codes of the second category; those of the first are all 0."""
    table = pq.read_table(write(path, rows))
    values = pa.array(steps or [5] * len(rows), pa.int32())
    table = table.append_column("measure_0", values)
    table = table.append_column("category_0", pa.array([0] * len(rows), pa.uint8()))
    pq.write_table(table.append_column("category_1", pa.array(codes, pa.uint8())), path)
    return path


def view_of(path: Path, **changes: Any) -> DuckDBView:
    facts: dict[str, Any] = {
        "domain": Domain(AREA, measures=(SPEED,), categories=(AGE, MODE)),
        "unit": Unit.PERSON,
        "counting": Counting.VISITS,
        "bound": 3,
        "salt": bytes(range(16)),
        "threads": 2,
        **changes,
    }
    return DuckDBView(path, **facts)


def city(seed: int = 3, people: int = 30) -> tuple[list[Row], list[int]]:
    random = np.random.default_rng(seed)
    rows = wanderers(random, people, 300)
    return rows, random.integers(0, 3, len(rows)).tolist()


def counts_of(view: DuckDBView, sliced: SlicedGrid | SlicedZones) -> NDArray[np.int64]:
    counts = view.sliced_histogram(sliced)
    assert counts.sensitivity == view.bound
    return counts._read_by_meter()


@BOTH
def test_slices_are_the_maps_of_the_rows_of_each_value(tmp_path: Path, counting: Counting) -> None:
    rows, codes = city()
    view = view_of(written(tmp_path / "all.parquet", rows, codes), counting=counting, bound=1000)
    counts = counts_of(view, SlicedGrid(GRID, BY_MODE))
    assert counts.shape == (3, 4, 4)
    for code in range(3):
        own = [row for row, each in zip(rows, codes, strict=True) if each == code]
        path = write(tmp_path / "own.parquet", own)
        alone = view_of(path, counting=counting, bound=1000).histogram(GRID)._read_by_meter()
        assert counts[code].tolist() == alone.tolist()


@BOTH
def test_the_bound_holds_over_all_values_together(tmp_path: Path, counting: Counting) -> None:
    rows, codes = city(people=10)
    sliced = SlicedGrid(GRID, BY_MODE)
    path = written(tmp_path / "whole.parquet", rows, codes)
    whole = counts_of(view_of(path, counting=counting), sliced)
    for person in range(10):
        kept = [index for index, row in enumerate(rows) if row[0] != person]
        path = written(
            tmp_path / "others.parquet", [rows[i] for i in kept], [codes[i] for i in kept]
        )
        difference = whole - counts_of(view_of(path, counting=counting), sliced)
        assert difference.min() >= 0
        assert difference.sum() == 3


def test_values_and_times_divide_together(tmp_path: Path) -> None:
    rows, codes = city()
    view = view_of(written(tmp_path / "all.parquet", rows, codes), bound=1000)
    slices = Slicing(HALF_DAYS, "UTC", MODE)
    assert slices.names.keys[:3] == ("1-walk-00-12", "1-walk-12-24", "2-bike-00-12")
    counts = counts_of(view, SlicedGrid(GRID, slices))
    by_time = counts_of(view, SlicedGrid(GRID, Slicing(HALF_DAYS, "UTC")))
    assert counts.reshape(3, 2, 4, 4).sum(axis=0).tolist() == by_time.tolist()
    timed = np.array([row[3] is not None for row in rows])
    cells, found = located(GRID, rows)[timed], np.array(codes)[timed]
    expected = np.bincount(found * 16 + cells, minlength=48).reshape(3, 4, 4)
    assert counts.reshape(3, 2, 4, 4).sum(axis=1).tolist() == expected.tolist()


@pytest.mark.parametrize("unit", Unit)
def test_zones_and_values_of_a_measure_are_divided(tmp_path: Path, unit: Unit) -> None:
    rows, codes = city()
    steps = (np.arange(len(rows)) % 1001).tolist()
    path = written(tmp_path / "all.parquet", rows, codes, steps)
    most = 1000 if unit is Unit.PERSON else 1
    view = view_of(path, unit=unit, bound=most)
    divided = SlicedZones(OVERLAPPING, BY_MODE)
    above, below = view.value_shares(divided, SPEED)._read_by_meter()
    assert above.shape == below.shape == (3, 3)
    numbers = (above + below) // SPEED.steps
    if unit is Unit.RECORD:
        # a record that lies in two zones counts in only one of them
        assert numbers.sum() == len(rows)
        return
    whole = view.value_shares(OVERLAPPING, SPEED)._read_by_meter()
    assert above.sum(axis=0).tolist() == whole[0].tolist()
    assert numbers.tolist() == counts_of(view, divided).tolist()
