from __future__ import annotations

import numpy as np
import pytest

from benchmarks.evaluation.arrays import AREA, CountsView, coarsened
from benchmarks.evaluation.ranges import (
    random_boxes,
    range_counts,
)
from dpgeo.spatial.grid import Grid


@pytest.mark.parametrize("cells", [1, 3, 128])
def test_an_array_is_counted_unchanged_and_inside_its_area(cells: int) -> None:
    counts = np.random.default_rng(1).integers(0, 9, (cells, cells))
    grid = Grid.over(AREA, cells)

    counted = CountsView(counts=counts).histogram(grid)

    assert counted.sensitivity == 1
    np.testing.assert_array_equal(counted._read_by_meter(), counts)
    assert grid.inside(AREA).all()


def test_a_coarser_grid_counts_the_same_records() -> None:
    counts = np.random.default_rng(2).integers(0, 9, (12, 12))

    counted = CountsView(counts=counts).histogram(Grid.over(AREA, 4))

    np.testing.assert_array_equal(counted._read_by_meter(), coarsened(counts, 4))


def test_range_counts_agree_with_slices() -> None:
    cells = np.random.default_rng(3).integers(0, 9, (16, 16))
    boxes = random_boxes(16)

    counts = range_counts(cells, boxes)

    assert len(boxes) == 2000
    assert boxes.min() == 0
    assert boxes.max() == 16
    assert counts.tolist() == [cells[a:b, c:d].sum() for a, b, c, d in boxes]
