from __future__ import annotations

import numpy as np
import pytest

from dpgeo.spatial import grid as grid_module
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.cell_runs import CellRuns
from dpgeo.spatial.grid import Grid

RING = StudyArea.from_geojson(
    {
        "type": "Polygon",
        "coordinates": [
            [[10, 50], [10.4, 50.1], [10.2, 50.3], [10, 50]],
            [[10.15, 50.1], [10.25, 50.13], [10.2, 50.2], [10.15, 50.1]],
        ],
    }
)
BOX = StudyArea.from_bounds(10, 50, 10.2, 50.05)


@pytest.mark.parametrize("area", [RING, BOX])
@pytest.mark.parametrize("cells", [1, 7, 64, 200])
@pytest.mark.parametrize("band", [1, 50, 512])
def test_runs_are_the_cells_of_the_mask(
    area: StudyArea, cells: int, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_module, "BAND_ROWS", band)
    grid = Grid.over(area, cells)
    inside = np.flatnonzero(grid.inside(area))

    runs = grid.inside_runs(area)

    assert runs.size == inside.size <= grid.most_inside(area)
    assert runs.numbers(np.arange(runs.size)).tolist() == inside.tolist()
    assert grid.most_inside(BOX) >= Grid.over(BOX, cells).inside(BOX).sum() or area is RING


def test_ranks_invert_numbers_and_are_negative_outside_the_set() -> None:
    runs = CellRuns(np.array([3, 10, 11]), np.array([5, 11, 14]))

    assert runs.size == 6
    assert runs.numbers(np.arange(6)).tolist() == [3, 4, 10, 11, 12, 13]
    assert runs.ranks(np.array([0, 3, 4, 5, 9, 10, 13, 14])).tolist() == [
        *(-1, 0, 1, -1),
        *(-1, 2, 5, -1),
    ]
