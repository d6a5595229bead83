"""Task regions, grown from a release's boxes until a task's target probability is reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpgeo.postprocess.tasks.acceptance import Acceptance
from dpgeo.postprocess.tasks.geocast import Partition
from tests.unit.postprocess.tasks.surfaces import two_towns

MODEL = Acceptance(willingness=40.0, least_reward=1.0, travel_metres=5000.0)


def cells() -> Partition:
    surface = two_towns()
    row, column = np.divmod(np.arange(surface.grid.size), surface.grid.columns)
    boxes = np.column_stack([row, row + 1, column, column + 1]).astype(np.int32)
    return Partition(surface.grid, boxes, surface.counts.ravel())


def accepting(partition: Partition, regions: np.ndarray, here: Any) -> np.ndarray:
    """Return the expected number of people in each region who accept the task."""
    chances = partition._chances(regions, here, 5.0, MODEL)
    return np.asarray(partition.people[regions] * chances)


def test_a_geocast_reaches_the_target_and_is_connected() -> None:
    partition = cells()
    cast = partition.geocast(18.08, 59.32, reward=5.0, acceptance=MODEL, target=0.9)
    assert cast.reached
    assert cast.success >= 0.9
    assert cast.notified == pytest.approx(partition.people[cast.regions].sum())
    assert partition.outline(cast.regions).geom_type == "Polygon"
    assert cast.regions[:1] == partition.regions_at([18.08], [59.32])


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
