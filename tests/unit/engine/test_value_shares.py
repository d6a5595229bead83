"""Numbers of records and sums of a measure by region, as the engine bounds and adds them up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure
from dpgeo.engine.duckdb_view import DuckDBView, Sampling
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.unit.engine.canonical import AREA, Row, located, wanderers, write

SALT = bytes(range(16))
WAIT = Measure("wait", "Wait", "min", 0.0, 60.0)
SPEED = Measure("speed", "Speed", "km/h", 0.0, 50.0)
GRID = Grid.over(AREA, 8)
MANY = 1000
OVERLAPPING = Zones(
    keys=("west", "east", "all"),
    names=("West", "East", "All"),
    shapes=shapely.box([13.0, 13.1, 13.0], 52.0, [13.1, 13.2, 13.2], 52.1),
)


def written(path: Path, rows: list[Row], steps: list[int | None]) -> Path:
    """Write rows with values of two measures, in steps; those of the first measure are all 7."""
    table = pq.read_table(write(path, rows))
    seven = pa.array([7] * len(rows), pa.int32())
    table = table.append_column("measure_0", seven)
    pq.write_table(table.append_column("measure_1", pa.array(steps, pa.int32())), path)
    return path


def shares(
    path: Path, regions: Grid | Zones = GRID, *, measure: Measure = SPEED, **changes: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of records and the sums of regions, which only tests may read."""
    facts: dict[str, Any] = {
        "domain": Domain(AREA, measures=(WAIT, SPEED)),
        "unit": Unit.PERSON,
        "counting": Counting.VISITS,
        "bound": 3,
        "salt": SALT,
        "threads": 2,
        **changes,
    }
    sums = DuckDBView(path, **facts).value_shares(regions, measure)
    assert sums.sensitivity == facts["bound"] * measure.steps
    above, below = sums._read_by_meter()
    numbers = above + below
    assert (numbers % measure.steps == 0).all()
    return (numbers // measure.steps).ravel(), above.ravel()


def city(seed: int = 5, people: int = 40) -> tuple[list[Row], list[int | None]]:
    random = np.random.default_rng(seed)
    rows = wanderers(random, people, 400)
    return rows, [int(k) if k <= 1000 else None for k in random.integers(0, 1100, len(rows))]


def test_without_a_bound_every_row_with_a_value_counts(tmp_path: Path) -> None:
    rows, steps = city()
    numbers, sums = shares(written(tmp_path / "a.parquet", rows, steps), bound=MANY)
    cells = located(GRID, rows)
    has_value = np.array([step is not None for step in steps])
    values = np.array([step or 0 for step in steps])
    assert numbers.tolist() == np.bincount(cells[has_value], minlength=GRID.size).tolist()
    assert sums.tolist() == np.bincount(cells[has_value], values[has_value], GRID.size).tolist()
    again = shares(tmp_path / "a.parquet", bound=MANY, measure=WAIT)
    assert again[1].sum() == 7 * len(rows)


@pytest.mark.parametrize("counting", list(Counting))
@pytest.mark.parametrize("regions", [GRID, OVERLAPPING], ids=["grid", "zones"])
def test_a_person_changes_at_most_the_bound_of_contributions(
    tmp_path: Path, counting: Counting, regions: Grid | Zones
) -> None:
    rows, steps = city()
    whole = shares(written(tmp_path / "a.parquet", rows, steps), regions, counting=counting)
    for person in range(0, 40, 8):
        others = [index for index, row in enumerate(rows) if row[0] != person]
        path = written(
            tmp_path / "b.parquet",
            [rows[index] for index in others],
            [steps[index] for index in others],
        )
        numbers, sums = shares(path, regions, counting=counting)
        fewer, less = whole[0] - numbers, whole[1] - sums
        assert (fewer >= 0).all()
        assert 0 < fewer.sum() <= 3
        # A value of k steps out of 1000 adds k to one sum and 1000 - k to the other: 1000 in all.
        assert np.abs(less).sum() + np.abs(1000 * fewer - less).sum() == 1000 * fewer.sum()


def test_with_people_a_persons_own_mean_counts_once_in_a_region(tmp_path: Path) -> None:
    grid = Grid.over(AREA, 1)
    x, y = grid.west + grid.cell / 2, grid.north - grid.cell / 2
    rows: list[Row] = [(1, x, y, 0), (1, x, y, 1), (1, x, y, 2), (2, x, y, 0)]
    path = written(tmp_path / "a.parquet", rows, [1000, 1000, 1, None])
    numbers, sums = shares(path, grid, counting=Counting.PEOPLE)
    assert (numbers.tolist(), sums.tolist()) == ([1], [667])


def test_the_value_does_not_affect_which_rows_are_kept(tmp_path: Path) -> None:
    rows, steps = city()
    rows, steps = list(dict.fromkeys(rows)), steps[: len(dict.fromkeys(rows))]
    told: list[int | None] = [None if step is None else 1000 - step for step in steps]
    first = shares(written(tmp_path / "a.parquet", rows, steps))
    second = shares(written(tmp_path / "b.parquet", rows, told))
    assert first[0].tolist() == second[0].tolist()
    assert (first[1] + second[1]).tolist() == (1000 * first[0]).tolist()


def test_rows_that_are_equal_but_for_the_value_are_ordered_by_it(tmp_path: Path) -> None:
    x, y = GRID.west + GRID.cell / 2, GRID.north - GRID.cell / 2
    rows: list[Row] = [(1, x, y, 0)] * 4
    for steps in ([900, 10, 500, 20], [20, 500, 900, 10]):
        path = written(tmp_path / "a.parquet", rows, list(steps))
        numbers, sums = shares(path, bound=2)
        assert (numbers.sum(), sums.sum()) == (2, 30)


@pytest.mark.parametrize("counting", list(Counting))
def test_every_way_of_sampling_keeps_the_same(tmp_path: Path, counting: Counting) -> None:
    path = written(tmp_path / "a.parquet", *city())
    results = [
        shares(path, counting=counting, sampling=Sampling(heap=heap, passes=passes))
        for heap, passes in ((True, 1), (False, 1), (True, 3))
    ]
    for each in results[1:]:
        assert np.array_equal(each[0], results[0][0])
        assert np.array_equal(each[1], results[0][1])


def test_a_record_counts_once_whatever_zones_it_is_in(tmp_path: Path) -> None:
    rows, steps = city()
    path = written(tmp_path / "a.parquet", rows, steps)
    with_value = sum(step is not None for step in steps)
    for regions in (GRID, OVERLAPPING):
        numbers, _ = shares(path, regions, unit=Unit.RECORD, bound=1)
        assert numbers.sum() == with_value


@pytest.mark.parametrize("counting", list(Counting))
@pytest.mark.parametrize("regions", [GRID, OVERLAPPING], ids=["grid", "zones"])
@pytest.mark.parametrize("bins", [8, 30])
def test_a_histogram_counts_the_values_of_the_same_records(
    tmp_path: Path, counting: Counting, regions: Grid | Zones, bins: int
) -> None:
    path = written(tmp_path / "a.parquet", *city())
    numbers, sums = shares(path, regions, counting=counting)
    counts = histogram(path, regions, bins, counting=counting)
    assert counts.sum(axis=1).tolist() == numbers.tolist()
    # A bin's values lie between its edges; the highest possible value is in the last bin.
    lowest, highest = counts @ np.arange(bins), counts @ np.arange(1, bins + 1)
    assert (1000 / bins * lowest <= sums).all()
    assert (sums <= 1000 / bins * highest).all()


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("regions", [GRID, OVERLAPPING], ids=["grid", "zones"])
def test_a_unit_changes_at_most_the_bound_of_a_histograms_counts(
    tmp_path: Path, unit: Unit, regions: Grid | Zones
) -> None:
    rows, steps = city()
    bound = 3 if unit is Unit.PERSON else 1
    facts: dict[str, Any] = {"unit": unit, "bound": bound}
    whole = histogram(written(tmp_path / "a.parquet", rows, steps), regions, 20, **facts)
    for number in range(0, 40, 8):
        alone = [
            row[0] == number if unit is Unit.PERSON else at == number for at, row in enumerate(rows)
        ]
        others = [at for at, one in enumerate(alone) if not one]
        path = written(
            tmp_path / "b.parquet", [rows[at] for at in others], [steps[at] for at in others]
        )
        changed = whole - histogram(path, regions, 20, **facts)
        assert (changed >= 0).all()
        assert changed.sum() <= bound
        assert changed.sum() > 0 or unit is Unit.RECORD


def test_steps_on_an_edge_are_in_the_upper_bin_and_the_last_step_in_the_last(
    tmp_path: Path,
) -> None:
    steps: list[int | None] = [0, 99, 100, 899, 900, 1000, None]
    x, y = GRID.west + GRID.cell / 2, GRID.north - GRID.cell / 2
    rows: list[Row] = [(person, x, y, 0) for person in range(len(steps))]
    counts = histogram(written(tmp_path / "a.parquet", rows, steps), Grid.over(AREA, 1), 10)
    assert counts[0].tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 1, 2]


def histogram(path: Path, regions: Grid | Zones, bins: int, **changes: Any) -> NDArray[np.int64]:
    """Return each region's histogram (n, bins) of SPEED, which only tests may read."""
    facts: dict[str, Any] = {
        "domain": Domain(AREA, measures=(WAIT, SPEED)),
        "unit": Unit.PERSON,
        "counting": Counting.VISITS,
        "bound": 3,
        "salt": SALT,
        "threads": 2,
        **changes,
    }
    counts = DuckDBView(path, **facts).value_histogram(regions, SPEED, bins)
    assert counts.sensitivity == facts["bound"]
    return counts._read_by_meter().reshape(-1, bins)
