"""The literature's task regions (geocasts), its circles and its acceptance of tasks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmarks.evaluation.tasks import acceptance_chance
from benchmarks.literature.circle import circle_radius, circle_success
from benchmarks.literature.geocast import Partition
from dpgeo.postprocess.tasks.settings import Conditions
from tests.unit.postprocess.tasks.surfaces import two_towns

MODEL = Conditions(target=0.9, willingness=40.0, least_reward=1.0, travel_metres=5000.0)


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
    cast = partition.geocast(18.08, 59.32, reward=5.0, conditions=MODEL)
    assert cast.reached
    assert cast.success >= 0.9
    assert cast.notified == pytest.approx(partition.people[cast.regions].sum())
    chosen = cast.regions.tolist()
    for number, region in enumerate(chosen[1:], start=1):
        assert set(chosen[:number]) & set(partition.neighbours(region).tolist())
    assert cast.regions[:1] == partition.regions_at([18.08], [59.32])


def test_each_region_added_is_the_best_beside_those_before() -> None:
    partition = cells()
    cast = partition.geocast(18.13, 59.30, reward=5.0, conditions=MODEL)
    here = partition._here(18.13, 59.30)
    chosen = cast.regions.tolist()
    for step in range(1, min(len(chosen), 40)):
        beside = {int(o) for r in chosen[:step] for o in partition.neighbours(r)} - set(
            chosen[:step]
        )
        best = accepting(partition, np.array(sorted(beside)), here).max()
        (gain,) = accepting(partition, np.array([chosen[step]]), here)
        assert gain == pytest.approx(best)


def test_acceptance_decreases_with_distance_and_increases_with_reward() -> None:
    assert acceptance_chance(MODEL, 10.0, 100.0) > acceptance_chance(MODEL, 10.0, 400.0)
    assert acceptance_chance(MODEL, 11.0, 400.0) > acceptance_chance(MODEL, 10.0, 400.0)
    assert acceptance_chance(MODEL, 10.0, 400.0) == pytest.approx(math.tanh(1))
    assert acceptance_chance(MODEL, 10.0, 0.0) == 1
    assert acceptance_chance(MODEL, 0.5, 100.0) == acceptance_chance(MODEL, 10.0, 6000.0) == 0


def test_the_circle_model_is_solved_over_many_orders_of_magnitude() -> None:
    density = np.geomspace(1e-12, 1e3, 60)
    pull = np.full(60, 3.0)
    radius = circle_radius(-math.log(0.1), density, pull)
    assert (np.diff(radius) < 0).all()
    assert np.allclose(circle_success(radius, density, pull), 0.9, atol=1e-9)
