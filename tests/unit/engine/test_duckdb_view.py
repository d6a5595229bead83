from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import (
    HEAP_LIMIT,
    DuckDBView,
    Sampling,
)
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees
from tests.unit.engine.canonical import AREA, Row, centre, located, wanderers, write

SALT = bytes(range(16))
BOTH = pytest.mark.parametrize("counting", list(Counting))


def count(
    path: Path,
    grid: Grid,
    *,
    counting: Counting = Counting.PEOPLE,
    unit: Unit = Unit.PERSON,
    bound: int = 3,
    salt: bytes = SALT,
    threads: int = 2,
    sampling: Sampling | None = None,
) -> NDArray[np.int64]:
    """Return the bounded counts of a view. Only tests may read them."""
    view = DuckDBView(
        path,
        domain=Domain(AREA),
        unit=unit,
        counting=counting,
        bound=bound,
        salt=salt,
        threads=threads,
        sampling=sampling,
    )
    counts = view.histogram(grid)
    assert counts.sensitivity == bound
    assert counts.shape == grid.shape
    return counts._read_by_meter()


def edge_positions(grid: Grid) -> list[Row]:
    """Return positions on cell edges and grid edges, and the nearest floats on both sides."""
    xs = grid.west + np.arange(grid.columns + 1) * grid.cell
    ys = grid.north - np.arange(grid.rows + 1) * grid.cell
    middle_x, middle_y = centre(grid, grid.rows // 2, grid.columns // 2)
    across = (*xs, *np.nextafter(xs, -np.inf), *np.nextafter(xs, np.inf))
    along = (*ys, *np.nextafter(ys, -np.inf), *np.nextafter(ys, np.inf))
    return [
        *((0, float(x), middle_y, None) for x in across),
        *((0, middle_x, float(y), None) for y in along),
    ]


@pytest.mark.parametrize("cells", [1, 7, 64, 1000, 4096])
def test_it_locates_every_position_as_the_grid_does(tmp_path: Path, cells: int) -> None:
    grid = Grid.over(AREA, cells)
    random = np.random.default_rng(cells)
    nowhere = [float("nan"), float("inf"), float("-inf"), 1e300]
    rows = [
        *wanderers(random, 1, 2000),
        *edge_positions(grid),
        *((0, value, grid.north - 1, None) for value in nowhere),
        *((0, grid.west + 1, value, None) for value in nowhere),
    ]
    cell = located(grid, rows)
    expected = np.bincount(cell[cell >= 0], minlength=grid.size).reshape(grid.shape)
    assert (cell < 0).any()

    counts = count(write(tmp_path / "canonical.parquet", rows), grid, unit=Unit.RECORD, bound=1)

    np.testing.assert_array_equal(counts, expected)


@BOTH
def test_a_bound_above_all_contributions_counts_everything(
    tmp_path: Path, counting: Counting
) -> None:
    grid = Grid.over(AREA, 8)
    rows = wanderers(np.random.default_rng(1), 20, 500)
    pairs = list(zip((row[0] for row in rows), located(grid, rows).tolist(), strict=True))
    amounts = Counter(cell for _, cell in (set(pairs) if counting == Counting.PEOPLE else pairs))
    expected = [amounts[cell] for cell in range(grid.size)]

    for bound in (1000, HEAP_LIMIT + 1):
        counts = count(
            write(tmp_path / "canonical.parquet", rows), grid, counting=counting, bound=bound
        )
        assert counts.ravel().tolist() == expected


@BOTH
def test_removing_a_person_takes_away_at_most_the_bound_and_changes_nothing_else(
    tmp_path: Path, counting: Counting
) -> None:
    grid = Grid.over(AREA, 16)
    rows = wanderers(np.random.default_rng(2), 25, 400)
    whole = count(write(tmp_path / "whole.parquet", rows), grid, counting=counting)
    for person in range(25):
        others = [row for row in rows if row[0] != person]
        alone = [row for row in rows if row[0] == person]
        without = count(write(tmp_path / "without.parquet", others), grid, counting=counting)
        of_one = count(write(tmp_path / "alone.parquet", alone), grid, counting=counting)
        np.testing.assert_array_equal(whole - without, of_one)
        assert of_one.sum() == min(3, _contributions(grid, alone, counting))
        if counting == Counting.PEOPLE:
            assert of_one.max() <= 1


def _contributions(grid: Grid, rows: list[Row], counting: Counting) -> int:
    cells = located(grid, rows)
    return len(set(cells.tolist())) if counting == Counting.PEOPLE else len(cells)


@BOTH
def test_counts_do_not_depend_on_row_order_or_on_how_work_is_divided(
    tmp_path: Path, counting: Counting
) -> None:
    grid = Grid.over(AREA, 32)
    rows = wanderers(np.random.default_rng(3), 300, 6000)
    path = write(tmp_path / "canonical.parquet", rows)
    expected = count(path, grid, counting=counting, threads=1)
    shuffled = [rows[index] for index in np.random.default_rng(4).permutation(len(rows))]
    write(tmp_path / "shuffled.parquet", shuffled)

    for heap in (True, False):
        for passes in (1, 3):
            for file in ("canonical.parquet", "shuffled.parquet"):
                counts = count(
                    tmp_path / file,
                    grid,
                    counting=counting,
                    threads=3,
                    sampling=Sampling(heap=heap, passes=passes),
                )
                np.testing.assert_array_equal(counts, expected)


def test_a_cell_counts_a_person_once_however_often_they_came(tmp_path: Path) -> None:
    grid = Grid.over(AREA, 4)
    x, y = centre(grid, 1, 2)
    rows: list[Row] = [(7, x, y, when) for when in range(50)]
    path = write(tmp_path / "canonical.parquet", rows)

    people = count(path, grid, bound=10)
    visits = count(path, grid, bound=10, counting=Counting.VISITS)

    assert (people[1, 2], people.sum()) == (1, 1)
    assert (visits[1, 2], visits.sum()) == (10, 10)


def test_people_whose_hashes_agree_in_one_half_stay_distinct(tmp_path: Path) -> None:
    grid = Grid.over(AREA, 4)
    x, y = centre(grid, 1, 2)
    tables = [
        pq.read_table(write(tmp_path / "one.parquet", [(7, x, y, 1), (8, x, y, 1)])),
        pq.read_table(write(tmp_path / "two.parquet", [(7, x, y, 1)], person_high=4)),
    ]
    pq.write_table(pa.concat_tables(tables), tmp_path / "canonical.parquet")

    assert count(tmp_path / "canonical.parquet", grid, bound=1)[1, 2] == 3


@BOTH
def test_every_item_of_a_person_is_as_likely_to_be_kept(tmp_path: Path, counting: Counting) -> None:
    """All cells or records of a person are equally likely to be kept.

    With a single DuckDB hash of several columns, some cells would be kept twice as often as others.
    """
    grid = Grid.over(AREA, 64)
    places = [
        centre(grid, row, column) for row, column in ((1, 1), (1, 2), (1, 3), (1, 4), (50, 9))
    ]
    people = 20_000
    rows: list[Row] = [(person, x, y, 9) for person in range(people) for x, y in places]

    counts = count(write(tmp_path / "canonical.parquet", rows), grid, counting=counting, bound=2)

    sampled = counts[counts > 0]
    assert sampled.size == 5
    # Everybody keeps two of five cells, so each cell's count is binomial (20,000 people, 2/5). Its
    # standard deviation is 69.3, and the limit is seven of them.
    assert np.abs(sampled - people * 2 / 5).max() < 485


def test_every_record_counts_when_the_privacy_unit_is_a_record(tmp_path: Path) -> None:
    grid = Grid.over(AREA, 4)
    x, y = centre(grid, 3, 0)
    path = write(tmp_path / "canonical.parquet", [(0, x, y, None)] * 6, person_high=0)

    for counting in Counting:
        counts = count(path, grid, unit=Unit.RECORD, bound=1, counting=counting)
        assert (counts[3, 0], counts.sum()) == (6, 6)


@BOTH
@pytest.mark.parametrize("unit", list(Unit))
def test_an_empty_file_counts_nothing(tmp_path: Path, unit: Unit, counting: Counting) -> None:
    path = write(tmp_path / "canonical.parquet", [])

    assert count(path, Grid.over(AREA, 16), unit=unit, bound=1, counting=counting).sum() == 0


def test_a_file_in_a_folder_named_like_a_pattern_is_read(tmp_path: Path) -> None:
    grid = Grid.over(AREA, 4)
    folder = tmp_path / "a*[b]?'c"
    folder.mkdir()
    path = write(folder / "canonical.parquet", [(1, *centre(grid, 0, 1), None)])

    assert count(path, grid)[0, 1] == 1


@pytest.mark.parametrize(("unit", "bound"), [(Unit.PERSON, 0), (Unit.PERSON, -2), (Unit.RECORD, 2)])
def test_a_contribution_bound_invalid_for_the_privacy_unit_is_refused(
    unit: Unit, bound: int
) -> None:
    with pytest.raises(InvalidInput) as caught:
        DuckDBView(
            Path("unread.parquet"),
            domain=Domain(AREA),
            unit=unit,
            counting=Counting.PEOPLE,
            bound=bound,
            salt=SALT,
        )
    assert caught.value.field == "bound"


@BOTH
@pytest.mark.parametrize("passes", [1, 3])
def test_sparse_counts_are_the_dense_ones(tmp_path: Path, counting: Counting, passes: int) -> None:
    grid = Grid.over(AREA, 16)
    rows = wanderers(np.random.default_rng(8), 40, 400)
    path = write(tmp_path / "canonical.parquet", rows)
    sampling = Sampling(heap=True, passes=passes)
    view = DuckDBView(
        path,
        domain=Domain(AREA),
        unit=Unit.PERSON,
        counting=counting,
        bound=3,
        salt=SALT,
        sampling=sampling,
    )

    sparse = view.sparse_histogram(grid)

    cells, amounts = sparse._read_by_meter()
    dense = count(path, grid, counting=counting).ravel()
    assert cells.tolist() == np.flatnonzero(dense).tolist()
    assert amounts.tolist() == dense[dense > 0].tolist()
    assert (sparse.size, sparse.sensitivity) == (256, 3)


def reports(
    path: Path,
    *,
    bound: int,
    unit: Unit = Unit.PERSON,
    time_step: int | None = 1,
    salt: bytes = SALT,
) -> list[Any]:
    """Return the reports that a view would perturb. Only tests may read them."""
    view = DuckDBView(
        path,
        domain=Domain(AREA),
        unit=unit,
        counting=Counting.VISITS,
        bound=bound,
        salt=salt,
    )
    private = view.positions(time_step=time_step)
    assert private.sensitivity == bound
    return [
        (lon, lat, time)
        for part in private._read_by_meter()
        for lon, lat, time in zip(
            part.longitude,
            part.latitude,
            [None] * len(part.longitude) if part.time is None else part.time,
            strict=True,
        )
    ]


@pytest.mark.parametrize("unit", list(Unit))
def test_public_attributes_stay_with_their_reports_and_do_not_affect_the_choice(
    tmp_path: Path, unit: Unit
) -> None:
    """Reports keep their public attributes, and attributes do not affect which reports are kept.

    The same reports are kept whether or not the attributes are published.
    """
    rows: list[Row] = [(person, 1.0 * person, 2.0, time) for person in range(9) for time in (1, 2)]
    path = write(tmp_path / "rows.parquet", rows)
    table = pq.read_table(path)
    combinations = []
    for shift in (0, 1):
        codes = pa.array((np.arange(len(rows)) + shift).astype(np.int32))
        pq.write_table(table.append_column("attributes", codes), path)
        view = DuckDBView(
            path,
            domain=Domain(AREA),
            unit=unit,
            counting=Counting.VISITS,
            bound=1,
            salt=SALT,
        )
        without = view.positions(time_step=1)._read_by_meter()
        assert all(part.attributes is None for part in without)
        metre = to_degrees(1.0, 0.0)[0]
        rest = [
            (round(lon / metre), int(time), int(number))
            for part in view.positions(time_step=1, attributes=True)._read_by_meter()
            for lon, time, number in zip(part.longitude, part.time, part.attributes, strict=True)  # type: ignore[arg-type]
        ]
        assert all(number == person * 2 + time - 1 + shift for person, time, number in rest)
        combinations.append(sorted((person, time) for person, time, _ in rest))
    assert combinations[0] == combinations[1]
    assert len(combinations[0]) == (18 if unit is Unit.RECORD else 9)


def test_the_choice_of_reports_does_not_depend_on_their_places(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    persons = random.integers(0, 20, 400)
    choices = []
    for seed in (1, 2):
        places = np.random.default_rng(seed).uniform(0, 1000, (400, 2))
        rows = [
            (int(p), x, y, time)
            for time, (p, (x, y)) in enumerate(zip(persons, places, strict=True))
        ]
        path = write(tmp_path / f"{seed}.parquet", rows)
        choices.append(sorted(time for _, _, time in reports(path, bound=3)))
    assert choices[0] == choices[1]
    assert len(choices[0]) == 60


def test_the_choice_of_reports_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    """The choice of reports does not depend on the order of the rows in the file.

    Otherwise, in a file sorted by place, changing one report would change which others are kept.
    """
    random = np.random.default_rng(7)
    rows: list[Row] = [
        (int(random.integers(0, 20)), random.uniform(0, 1000), random.uniform(0, 1000), time)
        for time in range(400)
    ]
    by_place = sorted(rows, key=lambda row: row[1])
    kept = [
        sorted(reports(write(tmp_path / f"{name}.parquet", each), bound=3))
        for name, each in (("time", rows), ("place", by_place))
    ]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 60


@pytest.mark.parametrize(("unit", "bound", "lacking"), [(Unit.PERSON, 3, 5), (Unit.RECORD, 1, 0)])
def test_it_counts_the_reports_that_people_lack(
    tmp_path: Path, unit: Unit, bound: int, lacking: int
) -> None:
    numbers = {1: 1, 2: 5, 3: 3, 4: 2, 5: 1}
    rows: list[Row] = [
        (who, 1.0, 2.0, time) for who, number in numbers.items() for time in range(number)
    ]
    view = DuckDBView(
        write(tmp_path / "rows.parquet", rows),
        domain=Domain(AREA),
        unit=unit,
        counting=Counting.VISITS,
        bound=bound,
        salt=SALT,
    )
    assert view.positions(time_step=None)._count_missing() == lacking


def test_times_are_kept_whole_until_the_bound_is_reached(tmp_path: Path) -> None:
    rows: list[Row] = [(1, float(n), 0.0, n // 2) for n in range(20)]
    for salt in range(8):
        path = write(tmp_path / f"{salt}.parquet", rows[:: 1 if salt % 2 else -1])
        times = Counter(time for _, _, time in reports(path, bound=5, salt=bytes([salt] * 16)))
        assert sorted(times.values()) == [1, 2, 2]


@pytest.mark.parametrize("time", [None, 7])
def test_among_reports_of_one_time_each_is_as_likely_to_be_kept(
    tmp_path: Path, time: int | None
) -> None:
    """Reports with the same time are equally likely to be kept.

    The order of the rows has no effect. Each view makes a new random choice, but reading the same
    view twice gives the same reports.
    """
    rows: list[Row] = [(1, float(n), 0.0, time) for n in range(4)] + [(2, 9.0, 9.0, 1)]
    path = write(tmp_path / "a.parquet", rows)
    drawn: Counter[float] = Counter()
    for _ in range(100):
        drawn.update(lon for lon, _, _ in reports(path, bound=2))
    *one, other = [drawn[lon] for lon in sorted(drawn)]
    assert (other, len(one), sum(one)) == (100, 4, 200)
    assert all(abs(count - 50) < 7 * 5 for count in one)  # fails by chance in one of 1e11 runs
    view = DuckDBView(
        path,
        domain=Domain(AREA),
        unit=Unit.PERSON,
        counting=Counting.VISITS,
        bound=2,
        salt=SALT,
    )
    private = view.positions(time_step=None)
    first, again = (
        [part.longitude.tolist() for part in private._read_by_meter()] for _ in range(2)
    )
    assert sorted(itertools.chain(*first)) == sorted(itertools.chain(*again))
    assert private._count_missing() == 1


def test_a_person_s_reports_are_chosen_without_regard_to_others(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    rows = [(int(random.integers(0, 10)), 1.0, 2.0, time) for time in range(200)]
    without = [row for row in rows if row[0] != 4]
    whole = reports(write(tmp_path / "a.parquet", rows), bound=3)
    rest = reports(write(tmp_path / "b.parquet", without), bound=3)
    assert set(rest) < set(whole)
    assert len(whole) - len(rest) == 3


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("counting", Counting)
def test_visits_are_the_counted_cells_grouped_by_person(
    tmp_path: Path, counting: Counting, passes: int
) -> None:
    grid = Grid.over(AREA, 64)
    path = write(tmp_path / "canonical.parquet", wanderers(np.random.default_rng(6), 40, 400))
    view = DuckDBView(
        path,
        domain=Domain(AREA),
        unit=Unit.PERSON,
        counting=counting,
        bound=3,
        salt=SALT,
        sampling=Sampling(heap=True, passes=passes),
    )

    visits = view.visits(grid)
    persons, _ = visits._read_by_meter()

    sparse = view.sparse_histogram(grid)._read_by_meter()
    for actual, expected in zip(visits.counts()._read_by_meter(), sparse, strict=True):
        assert actual.tolist() == expected.tolist()
    assert sorted(set(persons.tolist())) == list(range(int(persons.max()) + 1))
    assert np.bincount(persons).max() <= 3
