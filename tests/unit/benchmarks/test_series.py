"""The benchmark of series: its true counts, and the published mechanisms that it runs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.series import (
    WEEK_MINUTES,
    Scheme,
    absorbed,
    draw,
    grid_of,
    kinds,
    nodes_in,
    read,
    sums_error,
    tree_drawn,
    tree_variances,
    true_counts,
)

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
    drawn = draw(exact, weeks, grid_of(4), tmp_path, 1)
    assert drawn[:, 0, 0].tolist() == [5, 5, 0]  # two weeks use up the person's allowance
    alone = draw(Scheme(name="", each=1, epsilon=Fraction(200)), weeks, grid_of(4), tmp_path, 1)
    np.testing.assert_array_equal(alone, weeks.truth)
    for kind in kinds(4, weeks.venues):
        truth = true_counts(kind, weeks, tmp_path)
        assert truth.sum() == (0 if kind.name.startswith("flows") else 16)


def test_the_tree_is_worse_than_single_counts_up_to_a_hundred_periods() -> None:
    # A tree of a root and two leaves, each measured with variance 8: by least squares, the leaves'
    # covariance is 8 times the inverse of [[2, 1], [1, 2]].
    two = tree_variances(2)
    assert two["tree, a period"] == pytest.approx(16 / 3)
    assert two["tree, a range"] == pytest.approx(16 / 3)
    for periods in (26, 52, 104):
        found = tree_variances(periods)
        assert found["tree, a range"] > found["flat, a range"]
        assert found["tree, a period"] > 20 * found["flat, a period"]


def test_sums_of_the_tree_use_the_fewest_nodes() -> None:
    """A sum over consecutive periods uses the fewest nodes of a tree of 8 periods, counted by
    hand.
    """
    assert [nodes_in(0, 8), nodes_in(0, 7), nodes_in(1, 7), nodes_in(3, 4)] == [1, 3, 4, 1]
    # one node of a tree with two levels: Laplace noise of scale 2, with variance 2 * 2^2
    assert tree_variances(2)["p-sums, a range"] == 8


def test_a_tree_without_noise_gives_back_each_week() -> None:
    exact = np.random.default_rng(5).integers(0, 50, (11, 3, 3)).astype(np.float64)
    for fitted in (False, True):
        drawn = tree_drawn(exact, scale=1e-9, seed=1, fitted=fitted)
        np.testing.assert_allclose(drawn, exact, atol=1e-5)
    assert sums_error(exact, exact) == 0
    assert sums_error(exact + 1, exact) > 1


def test_absorbed_budgets_never_spend_more_in_any_weeks_in_a_row() -> None:
    random, scheme = np.random.default_rng(8), Scheme(name="", each=1, epsilon=Fraction(4))
    levels = 20.0 * random.integers(0, 4, 60).repeat(random.integers(1, 6, 60))
    exact = np.broadcast_to(levels[:, None, None], (levels.size, 6, 6))
    maps, spent = absorbed(exact, scheme, weeks=3, seed=2)
    assert max(spent) == 3  # a week spends its own share and those of two skipped weeks
    assert max(sum(spent[week : week + 3]) for week in range(len(spent))) == 3
    for week, shares in enumerate(spent[1:], start=1):
        assert (maps[week] == maps[week - 1]).all() == (shares == 0)
    assert np.abs(maps - exact).mean() < np.abs(exact - exact.mean()).mean()
