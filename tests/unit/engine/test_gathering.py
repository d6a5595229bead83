"""Several canonical files copied into one, with only the rows of a window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.engine.gathering import gather
from dpgeo.spatial.grid import Grid
from tests.unit.engine.canonical import AREA, wanderers, write


def rows_in(path: Path) -> list[tuple[object, ...]]:
    return [tuple(row.values())[1:] for row in pq.read_table(path).to_pylist()]


def test_a_window_has_its_first_second_and_not_its_last_and_no_row_without_a_time(
    tmp_path: Path,
) -> None:
    times = [None, 99, 100, 150, 199, 200, -5, None]
    path = write(tmp_path / "rows", [(1, 0.0, float(n), time) for n, time in enumerate(times)])
    gather([path], tmp_path / "some", between=(100, 200))
    assert [row[-1] for row in rows_in(tmp_path / "some")] == [100, 150, 199]
    timeless = pq.read_table(path)
    at = timeless.schema.get_field_index("time")
    timeless = timeless.set_column(at, timeless.schema.field(at), pa.nulls(8, pa.int64()))
    pq.write_table(timeless, path)
    gather([path], tmp_path / "none", between=(100, 200))
    assert rows_in(tmp_path / "none") == []
    assert pq.read_schema(tmp_path / "none") == timeless.schema


@pytest.mark.parametrize("counting", list(Counting))
def test_removing_a_person_from_all_files_removes_only_their_bounded_rows_of_the_window(
    tmp_path: Path, counting: Counting
) -> None:
    random = np.random.default_rng(2)
    files = [wanderers(random, 30, 300) for _ in range(3)]
    window = (2 * 10**8, 7 * 10**8)
    grid, bound = Grid.over(AREA, 16), 3

    def counts(name: str, without: int | None) -> np.ndarray:
        paths = [
            write(tmp_path / f"{name}{n}", [row for row in rows if row[0] != without])
            for n, rows in enumerate(files)
        ]
        gather(paths, tmp_path / name, between=window)
        view = DuckDBView(
            tmp_path / name,
            domain=Domain(AREA),
            unit=Unit.PERSON,
            counting=counting,
            bound=bound,
            salt=bytes(16),
        )
        return view.histogram(grid)._read_by_meter()

    whole = counts("whole", None)
    for person in range(5):
        change = whole - counts("rest", person)
        assert change.min() >= 0
        assert change.sum() == bound  # Everybody has more rows in the window than the bound.
