"""Task regions, grown from a release's boxes until a task's target probability is reached."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpgeo.postprocess.tasks import geocast
from dpgeo.postprocess.tasks.acceptance import Acceptance
from dpgeo.postprocess.tasks.geocast import Partition
from dpgeo.spatial import coverage
from dpgeo.spatial.grid import Grid
from tests.unit.postprocess.tasks.surfaces import AREA, two_towns

MODEL = Acceptance(willingness=40.0, least_reward=1.0, travel_metres=5000.0)


def halves_and_quarters() -> Partition:
    """Return a partition of four by four cells into the western half and two eastern quarters."""
    boxes = np.array([[0, 4, 0, 2], [0, 2, 2, 4], [2, 4, 2, 4]], dtype=np.int32)
    return Partition(Grid.over(AREA, 4), boxes, np.array([10.0, 0.0, 40.0]))


def cells() -> Partition:
    surface = two_towns()
    row, column = np.divmod(np.arange(surface.grid.size), surface.grid.columns)
    boxes = np.column_stack([row, row + 1, column, column + 1]).astype(np.int32)
    return Partition(surface.grid, boxes, surface.counts.ravel())


def accepting(partition: Partition, regions: np.ndarray, here: Any) -> np.ndarray:
    """Return the expected number of people in each region who accept the task."""
    chances = partition._chances(regions, here, 5.0, MODEL)
    return np.asarray(partition.people[regions] * chances)


def test_a_search_reads_the_cells_around_regions_not_those_of_the_whole_map(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sorted_cells: list[int] = []

    def counted(numbers: Any) -> Any:
        sorted_cells.append(len(numbers))
        return coverage.distinct(numbers)

    monkeypatch.setattr(geocast, "distinct", counted)
    side = 256
    row, column = np.divmod(np.arange(side**2), side)
    boxes = np.column_stack([row, row + 1, column, column + 1]).astype(np.int32)
    partition = Partition(Grid.over(AREA, side), boxes, np.ones(side**2))
    west, south, east, north = AREA.bounds
    cast = partition.geocast(
        (west + east) / 2, (south + north) / 2, reward=5.0, acceptance=MODEL, target=0.9
    )
    assert cast.reached
    assert sum(sorted_cells) <= 4 * cast.searched


def test_the_whole_map_as_one_region_has_no_neighbours() -> None:
    partition = Partition(Grid.over(AREA, 4), np.array([[0, 4, 0, 4]], np.int32), np.ones(1))
    assert partition.neighbours(0).tolist() == []


def test_regions_list_their_neighbours() -> None:
    partition = halves_and_quarters()
    assert partition.neighbours(0).tolist() == [1, 2]
    assert partition.neighbours(1).tolist() == [0, 2]
    assert partition.neighbours(2).tolist() == [0, 1]
    east, nowhere = partition.regions_at([18.2, 0.0], [59.35, 0.0])
    assert east in {1, 2}
    assert nowhere == -1


def test_a_geocast_reaches_the_target_and_is_connected() -> None:
    partition = cells()
    cast = partition.geocast(18.08, 59.32, reward=5.0, acceptance=MODEL, target=0.9)
    assert cast.reached
    assert cast.success >= 0.9
    assert cast.notified == pytest.approx(partition.people[cast.regions].sum())
    assert partition.outline(cast.regions).geom_type == "Polygon"
    assert cast.regions[:1] == partition.regions_at([18.08], [59.32])


def test_without_its_last_region_the_target_is_missed() -> None:
    partition = cells()
    cast = partition.geocast(18.08, 59.32, reward=5.0, acceptance=MODEL, target=0.9)
    here = partition._here(18.08, 59.32)
    parts = accepting(partition, cast.regions, here)
    assert -math.expm1(-sum(parts)) == pytest.approx(cast.success)
    assert -math.expm1(-sum(parts[:-1])) < 0.9


def test_each_region_added_is_the_best_beside_those_before() -> None:
    partition = cells()
    cast = partition.geocast(18.13, 59.30, reward=5.0, acceptance=MODEL, target=0.8)
    here = partition._here(18.13, 59.30)
    chosen = cast.regions.tolist()
    for step in range(1, min(len(chosen), 40)):
        beside = {int(o) for r in chosen[:step] for o in partition.neighbours(r)} - set(
            chosen[:step]
        )
        best = accepting(partition, np.array(sorted(beside)), here).max()
        (gain,) = accepting(partition, np.array([chosen[step]]), here)
        assert gain == pytest.approx(best)


def test_it_says_when_there_are_too_few_people() -> None:
    cast = cells().geocast(18.08, 59.32, reward=5.0, acceptance=MODEL, target=0.9, share=1e-6)
    assert not cast.reached
    assert cast.success < 0.9


def test_a_task_outside_every_region_has_no_geocast() -> None:
    cast = cells().geocast(0.0, 0.0, reward=5.0, acceptance=MODEL, target=0.9)
    assert cast.regions.size == 0
    assert not cast.reached


def test_it_grows_across_empty_regions_and_stays_connected() -> None:
    grid = Grid.over(AREA, 64)
    people = np.zeros(grid.size)
    row, column = np.divmod(np.arange(grid.size), grid.columns)
    boxes = np.column_stack([row, row + 1, column, column + 1]).astype(np.int32)
    partition = Partition(grid, boxes, people)
    (here,) = partition.regions_at([18.08], [59.32])
    people[here + 4] = 50.0
    cast = partition.geocast(18.08, 59.32, reward=5.0, acceptance=MODEL, target=0.9)
    assert cast.reached
    assert cast.notified == 50
    assert cast.regions.tolist() == [here, here + 1, here + 2, here + 3, here + 4]
    assert partition.outline(cast.regions).geom_type == "Polygon"
