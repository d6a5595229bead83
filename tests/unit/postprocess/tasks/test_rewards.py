"""Methods of dividing a total reward among tasks."""

from __future__ import annotations

import dataclasses
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


@pytest.mark.parametrize("reach", reaches())
def test_the_source_pays_more_where_more_ground_is_needed(reach: Reach) -> None:
    radius = reach.stretch(rewards.uniform(60, 300.0))
    given = rewards.optimised(reach, 60, 300.0, 1.0)
    assert (np.argsort(given, kind="stable") == np.argsort(radius, kind="stable")).all()


@pytest.mark.parametrize("reach", reaches())
def test_the_optimal_allocation_notifies_fewest(reach: Reach) -> None:
    best = rewards.optimal(reach, 60, 400.0, 1.0, LIMIT)
    radius = reach.radius(best)
    assert np.isfinite(radius).all()
    people = reach.notified(radius).sum()
    for other in (rewards.uniform(60, 400.0), rewards.optimised(reach, 60, 400.0, 1.0)):
        others = reach.radius(other)
        met = np.isfinite(others)
        # An allocation that gives some tasks no radius notifies fewer people. For a fair
        # comparison, add the people within LIMIT of these tasks.
        rest = reach.curves(np.array([LIMIT]))[~met, 0].sum()
        assert people <= reach.notified(np.where(met, others, 0.0)).sum() + rest + 1e-6


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


def test_the_optimal_allocation_meets_most_tasks() -> None:
    reach = reaches()[0]
    assert isinstance(reach, FieldReach)
    sparse = dataclasses.replace(reach, density=reach.density / 12)
    even = np.isfinite(sparse.radius(rewards.uniform(60, 70.0))).sum()
    best = rewards.optimal(sparse, 60, 70.0, 1.0, LIMIT)
    met = np.isfinite(sparse.radius(best)).sum()
    assert even < met < 60


def test_rewards_that_do_not_help_are_left_unspent() -> None:
    reach = reaches()[0]
    best = rewards.optimal(reach, 60, 1e9, 1.0, LIMIT)
    assert best.max() <= LIMIT * (1 + 1e-9)


def test_hulls_are_convex_and_below_every_point() -> None:
    random = np.random.default_rng(3)
    offered = np.geomspace(1, 100, 25)
    people = np.maximum.accumulate(random.gamma(1, 1, (40, 25))[:, ::-1], axis=1)[:, ::-1]
    people[:20, :4] = np.inf
    corner = rewards._hull(offered, people)
    for task in range(40):
        at = np.flatnonzero(corner[task])
        slope = np.diff(people[task, at]) / np.diff(offered[at])
        assert (np.diff(slope) > -1e-12).all()
        finite = np.isfinite(people[task])
        hull = np.interp(offered[finite], offered[at], people[task, at])
        assert (people[task, finite] >= hull - 1e-9).all()


def test_a_least_reward_of_nothing_is_allowed() -> None:
    best = rewards.optimal(reaches()[0], 60, 300.0, 0.0, LIMIT)
    assert best.min() >= 0
    assert best.sum() <= 300 * (1 + 1e-12)
