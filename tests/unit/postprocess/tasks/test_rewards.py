"""Methods of dividing a total reward among tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgeo.postprocess.tasks import rewards
from dpgeo.postprocess.tasks.acceptance import Acceptance
from dpgeo.postprocess.tasks.radius import CircleReach, FieldReach, Reach

MODEL = Acceptance(willingness=20.0, least_reward=1.0, travel_metres=3000.0)
NEEDED = -math.log(0.1)
LIMIT = rewards.SATISFIED * MODEL.travel_metres / MODEL.willingness


def reaches(tasks: int = 60) -> list[Reach]:
    random = np.random.default_rng(11)
    edges = 3000 * (np.arange(25) / 24) ** 1.75
    density = random.uniform(1e-5, 3e-4, (tasks, 1)) * random.gamma(4, 0.25, (tasks, 24))
    return [
        FieldReach(acceptance_model=MODEL, needed=NEEDED, edges=edges, density=density),
        CircleReach(acceptance_model=MODEL, needed=NEEDED, density=density.mean(axis=1)),
    ]


@pytest.mark.parametrize("reach", reaches())
def test_the_total_is_spent_and_no_task_gets_less_than_the_least(reach: Reach) -> None:
    given = rewards.optimised(reach, 60, 300.0, 1.0)
    assert given.sum() == pytest.approx(300)
    assert given.min() >= 1
    best = rewards.optimal(reach, 60, 300.0, 1.0, LIMIT)
    assert best.sum() <= 300 * (1 + 1e-12)
    assert best.min() >= 1


def test_the_optimal_allocation_agrees_with_a_slow_search() -> None:
    """The optimal allocation agrees with a slow search.

    Moving a little reward from one task to another never reduces the number of people notified by
    more than 0.5 %.
    """
    reach = reaches(8)[0]
    best = rewards.optimal(reach, 8, 60.0, 1.0, LIMIT)
    people = reach.notified(reach.radius(best)).sum()
    for source in range(8):
        for sink in range(8):
            moved = best.copy()
            step = min(0.3, moved[source] - 1.0)
            moved[source] -= step
            moved[sink] += step
            radius = reach.radius(moved)
            if np.isfinite(radius).all():
                assert reach.notified(radius).sum() >= people * 0.995
