"""Division of a total reward among tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgeo.postprocess.tasks import rewards
from dpgeo.postprocess.tasks.reach import Reach

WILLINGNESS = 20.0
NEEDED = -math.log(0.1)
LIMIT = rewards.SATISFIED * 3000.0 / WILLINGNESS


def some_reach(tasks: int = 60) -> Reach:
    random = np.random.default_rng(11)
    edges = 3000 * (np.arange(25) / 24) ** 1.75
    density = random.uniform(1e-5, 3e-4, (tasks, 1)) * random.gamma(4, 0.25, (tasks, 24))
    return Reach(willingness=WILLINGNESS, needed=NEEDED, edges=edges, density=density)


def test_the_total_is_spent_and_no_task_gets_less_than_the_least() -> None:
    best = rewards.allocate(some_reach(), 60, 300.0, 1.0, LIMIT)
    assert best.sum() == pytest.approx(300)
    assert best.min() >= 1


def test_the_optimal_allocation_agrees_with_a_slow_search() -> None:
    """The optimal allocation agrees with a slow search.

    Moving a little reward from one task to another never reduces the number of people notified by
    more than 0.5 %.
    """
    reach = some_reach(8)
    best = rewards.allocate(reach, 8, 60.0, 1.0, LIMIT)
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
