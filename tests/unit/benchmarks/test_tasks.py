"""Task plans evaluated with workers at known positions, checked against hand calculations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.crowdsourcing import table
from benchmarks.evaluation.tasks import NOTICE_COST, cast_outcome, outcome
from dpgeo.postprocess.tasks.acceptance import Acceptance
from dpgeo.postprocess.tasks.geocast import Geocast, Partition
from dpgeo.postprocess.tasks.plan import Allocation, Plan, Reason, Tasks
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

MODEL = Acceptance(willingness=100.0, least_reward=1.0, travel_metres=3000.0)
DEGREE = math.radians(1) * 6371008.8
"""Length in metres of one degree along a meridian."""

TASKS = Tasks(
    longitude=np.array([18.0, 18.1]), latitude=np.array([59.3, 59.3]), reward=np.full(2, np.nan)
)
NEAR = (18.0, 59.3 + 400 / DEGREE)
FAR = (18.0, 59.3 - 800 / DEGREE)
AWAY = (18.0, 59.3 + 2000 / DEGREE)


def plan(radius: list[float]) -> Plan:
    blank = np.full(2, np.nan)
    return Plan(
        allocation=Allocation.UNIFORM,
        reward=np.array([5.0, 5.0]),
        radius=np.array(radius),
        notified=blank,
        margin=blank,
        acceptance=blank,
        success=blank,
        density=blank,
        reasons=[Reason.PLANNED, Reason.OUT_OF_REACH],
    )


def test_workers_within_the_radius_decide_independently() -> None:
    longitude, latitude = np.array([NEAR, FAR, AWAY]).T
    result = outcome(plan([1000.0, math.nan]), TASKS, MODEL, longitude, latitude)
    near, far = math.tanh(500 / 400), math.tanh(500 / 800)
    success = 1 - (1 - near) * (1 - far)
    assert result.planned == 1
    assert result.notified == 2
    assert result.rejected == 0.5
    assert result.success_rate == pytest.approx(success)
    assert result.redrawn_success == pytest.approx(1 - math.exp(-near - far))
    travelled = (near * 400 + (1 - near) * far * 800) / success
    assert result.travel_metres == pytest.approx(travelled, rel=1e-4)
    assert result.distance_error == pytest.approx(2000 / 3 - 600, rel=1e-3)
    assert result.cost == pytest.approx(5 * success + 2 * NOTICE_COST)


def test_a_geocast_notifies_the_workers_in_its_regions() -> None:
    area = StudyArea.from_bounds(17.9, 59.2, 18.2, 59.4)
    grid = Grid.over(area, 2)
    boxes = np.array([[0, 2, 0, 1], [0, 2, 1, 2]], dtype=np.int32)
    partition = Partition(grid, boxes, np.array([3.0, 0.0]))
    here = partition.regions_at([18.0], [59.3])
    cast = Geocast(regions=here, notified=3.0, success=0.9, reached=True)
    longitude, latitude = np.array([NEAR, AWAY, (18.19, 59.3)]).T
    result = cast_outcome(
        partition, {0: cast}, plan([1000.0, math.nan]), TASKS, MODEL, longitude, latitude
    )
    assert result.notified == 2
    assert result.regions == 1
    missed = (1 - math.tanh(500 / 400)) * (1 - math.tanh(500 / 2000))
    assert result.success_rate == pytest.approx(1 - missed)


def test_a_table_has_a_row_for_each_model_and_leaves_out_what_had_no_plan() -> None:
    def lines(target: float, model: str, allocations: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {
                **{"epsilon": "1", "target": target, "model": model, "allocation": each},
                **{"source_rejected": number / 8, "notified": 2.0 * number},
            }
            for number, each in enumerate(allocations)
        ]

    every = ["uniform", "optimised", "optimal"]
    found = [
        *lines(0.9, "field", every),
        *lines(0.85, "field", every),
        *lines(0.9, "circle", every[1:]),
    ]
    assert table(found, "rejected")[2:] == [
        "| 1 | 0.9 | field | 0.000 / 0.125 / 0.250 | 0.0 / 2.0 / 4.0 |"
    ]
