"""Features of trips in a canonical file, checked against a plain loop over each person's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.trip_paths import TripPaths
from dpgeo.spatial.grid import Grid
from tests.unit.engine.canonical import AREA
from tests.unit.engine.test_trips import Trip, travellers, view_of, write_trips

GRID = Grid.over(AREA, 6)


def ways(rows: Sequence[Trip], paths: TripPaths) -> list[tuple[int, list[int]]]:
    """Return each trip's person and cells, found by a plain loop."""

    def cell(x: float, y: float) -> int:
        return int(paths.grid.locate(x, y))

    if not paths.gap_minutes:
        return [
            (row[0], [cell(row[1], row[2]), cell(row[4], row[5])])
            for row in rows
            if row[4] is not None and row[5] is not None
        ]
    found: list[tuple[int, list[int]]] = []
    for person in sorted({row[0] for row in rows}):
        own = sorted((row[3], *row[1:3]) for row in rows if row[0] == person and row[3] is not None)
        last = None
        for time, x, y in own:
            if last is None or time - last > 60 * paths.gap_minutes:
                found.append((person, []))
            found[-1][1].append(cell(x, y))
            last = time
    return found


def ends_of(view_ends: np.ndarray) -> dict[tuple[int, int], int]:
    table = view_ends.reshape(GRID.size, -1)
    return {(int(i), int(j)): int(table[i, j]) for i, j in np.argwhere(table)}


@pytest.mark.parametrize("gap", [0, 30, 240])
def test_trips_are_those_of_a_loop_over_each_persons_rows(tmp_path: Path, gap: int) -> None:
    rows, paths = travellers(), TripPaths(grid=GRID, gap_minutes=gap)
    view = view_of(write_trips(tmp_path / "rows.parquet", rows))
    private = view.trip_features(paths)
    moving = [cells for _, cells in ways(rows, paths) if len(set(cells)) > 1]
    short = [cells for cells in moving if _moves(cells) <= 40]
    assert len(moving) == len(short) > 10
    wanted = Counter((cells[0], cells[-1]) for cells in moving)
    assert ends_of(private.ends._read_by_meter()) == wanted
    lengths = Counter(_moves(cells) for cells in moving)
    counted = private.lengths._read_by_meter()
    assert {int(n) + 1: int(counted[n]) for n in np.flatnonzero(counted)} == lengths


def _moves(cells: Sequence[int]) -> int:
    row, column = np.divmod(np.array(cells), GRID.columns)
    return int(np.maximum(np.abs(np.diff(row)), np.abs(np.diff(column))).sum())


@pytest.mark.parametrize("counting", Counting)
@pytest.mark.parametrize("gap", [0, 240])
def test_removing_a_person_takes_away_that_persons_sample_alone(
    tmp_path: Path, gap: int, counting: Counting
) -> None:
    rows, paths, bound = travellers(), TripPaths(grid=GRID, gap_minutes=gap), 2

    def tables(of: Sequence[Trip], name: str) -> list[np.ndarray]:
        view = view_of(write_trips(tmp_path / name, of), bound=bound, counting=counting)
        private = view.trip_features(paths)
        return [each._read_by_meter() for each in (private.ends, private.moves, private.lengths)]

    everybody = tables(rows, "all.parquet")
    shuffled = [rows[n] for n in np.random.default_rng(2).permutation(len(rows))]
    for one, other in zip(everybody, tables(shuffled, "other.parquet"), strict=True):
        assert np.array_equal(one, other)
    alone = tables([row for row in rows if row[0] == 3], "own.parquet")
    others = tables([row for row in rows if row[0] != 3], "rest.parquet")
    for whole, own, rest, most in zip(everybody, alone, others, (2, 120, 2), strict=True):
        assert np.array_equal(whole, own + rest)
        assert own.sum() == most


def test_records_join_no_rows(tmp_path: Path) -> None:
    path = write_trips(tmp_path / "rows.parquet", travellers())
    view = view_of(path, unit=Unit.RECORD, bound=1)
    with pytest.raises(PrivacyError, match="joined"):
        view.trip_features(TripPaths(grid=GRID, gap_minutes=30))
    rows = view.trip_features(TripPaths(grid=GRID, gap_minutes=0))
    assert rows.ends._read_by_meter().sum() > 100
