"""The benchmark of series: its counts, its filter and the variances of the tree."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.series import WEEK_MINUTES, Scheme, draw, read, tree_variances

BOX = (-74.0, 40.0, -73.0, 41.0)


def write(path: Path, rows: list[tuple[int, int, float, float]]) -> Path:
    user, week, lat, lon = zip(*rows, strict=True)
    minute = [number * WEEK_MINUTES + 5 for number in week]
    pq.write_table(pa.table({"user": user, "minute": minute, "lat": lat, "lon": lon}), path)
    return path


def test_weeks_are_counted_in_the_cells_of_the_box(tmp_path: Path) -> None:
    rows = [(who, week, 40.9, -73.9) for who in range(5) for week in range(3)]
    rows += [(9, 0, 40.1, -73.1), (9, 0, 40.1, -73.1), (9, 0, 50.0, -73.1)]
    weeks = read(write(tmp_path / "rows.parquet", rows), BOX, 4, tmp_path)
    assert weeks.truth.shape == (3, 4, 4)
    assert weeks.truth[:, 0, 0].tolist() == [5, 5, 5]
    assert weeks.truth[0, 3, 3] == 1
    assert weeks.truth.sum() == 16
    exact = Scheme(name="", each=1, allowance=2, epsilon=Fraction(200))
    drawn = draw(exact, weeks, 4, tmp_path, 1)
    assert drawn[:, 0, 0].tolist() == [5, 5, 0]  # two weeks use the allowance up
    alone = draw(Scheme(name="", each=1, epsilon=Fraction(200)), weeks, 4, tmp_path, 1)
    np.testing.assert_array_equal(alone, weeks.truth)


def test_the_tree_is_worse_than_single_counts_up_to_a_hundred_periods() -> None:
    two = tree_variances(2)  # a root and two leaves: the inverse of [[2, 1], [1, 2]], times 8
    assert two["tree, a period"] == pytest.approx(16 / 3)
    assert two["tree, a range"] == pytest.approx(16 / 3)
    for periods in (26, 52, 104):
        found = tree_variances(periods)
        assert found["tree, a range"] > found["flat, a range"]
        assert found["tree, a period"] > 20 * found["flat, a period"]
